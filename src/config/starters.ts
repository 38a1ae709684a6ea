import type { ProxyConfig } from './proxy.ts'

/** What a new file says: the defaults that people change, as they are. */
export const PROXY_STARTER = `${JSON.stringify(
  {
    port: 4141,
    host: '127.0.0.1',
    policy: 'plimsoll',
    upstreams: {
      anthropic: 'https://api.anthropic.com',
      openai: 'https://api.openai.com',
      gemini: 'https://generativelanguage.googleapis.com',
    },
    observe: false,
    tools: true,
  } satisfies ProxyConfig,
  null,
  2,
)}\n`

export const POLICY_STARTER = `# Settings of Plimsoll. plimsoll config check says what is wrong, plimsoll config show what comes from where.

# A preset, or a name under "policies".
policy: plimsoll

# The window, when the catalogue does not know the model.
# window: 128k

# A model that writes summaries; without one they are made by code. Its key is read from the environment.
# summarizer: { format: anthropic-messages, model: claude-haiku-4-5, apiKeyEnv: ANTHROPIC_API_KEY }

# What may be spent, per call, session, agent, key, tenant or day.
# budgets:
#   - { scope: day, usd: 20 }

# Your own word on models, over the catalogue.
# models:
#   my-model: { window: 64k, maxOutputTokens: 8k }

# Numbers over those of the policy.
# override:
#   water:
#     high: 90%
#     low: 40%
`
