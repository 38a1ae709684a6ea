import type { ProxyConfig } from '../../gateway/config.ts'

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

# Numbers over those of the policy.
# override:
#   water:
#     high: 90%
#     low: 40%
`
