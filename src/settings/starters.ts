import { endpoints } from '../formats/endpoints.ts'
import { wires } from '../formats/registry.ts'
import type { ProxyConfig } from './proxy.ts'

const { id, endpoint } = wires[0]!

/** What a new file says: the defaults that people change, as they are. */
export const PROXY_STARTER = `${JSON.stringify(
  {
    port: 4141,
    host: '127.0.0.1',
    policy: 'plimsoll',
    upstreams: Object.fromEntries(endpoints.map(({ name, url }) => [name, url])),
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
# summarizer: { format: ${id}, model: ${endpoint.model}, apiKeyEnv: ${endpoint.keys[0]} }

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
