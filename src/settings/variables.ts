import * as v from 'valibot'
import { nearest } from '../core/values.ts'
import { SETTINGS, type Settings } from './settings.ts'

/** The environment variables of settings, and those that are no setting. */
export const variablesOf = (settings: Settings): readonly Variable[] => [
  ...VARIABLES,
  ...Object.values(settings).flatMap(({ code: own, where: { env, flag, file } }) => {
    const same = typeof flag === 'string' ? `Same as \`${flag.split(' ')[0]}\`. ` : ''
    return env === undefined
      ? []
      : [{ name: env, about: same + (v.getDescription(file === undefined || file === false ? own : file) ?? '') }]
  }),
]

/** Environment variables that are no setting. */
export const VARIABLES: readonly Variable[] = [
  {
    name: 'PLIMSOLL_HOME',
    about: 'Folder of the store, artifacts, learned limits and the updated model list. Default: `~/.plimsoll`.',
  },
  {
    name: 'PLIMSOLL_SECRET',
    about: 'Secret from which handles and tenant ids are computed. Default: a secret that the store keeps.',
  },
  {
    name: 'PLIMSOLL_KEY',
    about: 'Key that encrypts the store and artifacts: 64 hexadecimal digits, or 32 bytes of base64.',
  },
  { name: 'PLIMSOLL_KEY_FILE', about: 'File that contains the key of PLIMSOLL_KEY.' },
  { name: 'PLIMSOLL_DEBUG', about: 'Set to any value to print unexpected errors with their stack.' },
]

/** An environment variable that Plimsoll reads. */
export interface Variable {
  readonly name: string
  readonly about: string
}

/** Environment variables that the design of a preset defines, by preset. */
export const PRESET_VARIABLES: Readonly<Record<string, readonly string[]>> = {
  autosre: [
    'SRE_AGENT_TOKEN_BUDGET',
    'SRE_AGENT_LARGE_PAYLOAD_ENABLED',
    'SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_ITEMS',
    'SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS',
  ],
  'cyber-autoagent': [
    'CYBER_CONTEXT_LIMIT',
    'CYBER_PROMPT_TELEMETRY_THRESHOLD',
    'CYBER_PROMPT_CACHE_RELAX',
    'CYBER_PROMPT_CACHE_HINT',
    'CYBER_TOOL_COMPRESS_TRUNCATE',
    'CYBER_TOOL_MAX_RESULT_CHARS',
    'CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD',
    'CYBER_CONVERSATION_WINDOW',
    'CYBER_CONVERSATION_PRESERVE_FIRST',
    'CYBER_CONVERSATION_PRESERVE_LAST',
  ],
  'ai-agent': ['CONTEXT_DEBUG'],
}

/** What Kubernetes sets in every container for a service called plimsoll, plimsoll-proxy and so on. */
const OF_KUBERNETES =
  /^PLIMSOLL_(?:[A-Z0-9_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_\d+_[A-Z]+(?:_[A-Z]+)?)$/
const ADDRESS_OF_KUBERNETES = /^(?:tcp|udp|sctp):\/\//

/** Variables that begin with our name and that nothing reads, each with a sentence that says so: a setting that is misspelt is silently off. */
export function unknownVariables(env: Readonly<Record<string, string | undefined>> = process.env): readonly string[] {
  const known = variablesOf(SETTINGS).map(({ name }) => name)
  const ours = Object.entries(env).filter(([name]) => name.startsWith('PLIMSOLL_') && !known.includes(name))
  return ours
    .filter(([name, value]) => !OF_KUBERNETES.test(name) && !ADDRESS_OF_KUBERNETES.test(value ?? ''))
    .map(([name]) => {
      const meant = known.find((one) => one.endsWith(name.slice('PLIMSOLL'.length))) ?? nearest(name, known)
      return `Nothing reads the environment variable ${name}.${meant === undefined ? '' : ` Did you mean ${meant}?`}`
    })
}

let isTold = false

/** Says once what of the environment nothing reads. */
export function tellUnknownVariables(): void {
  if (isTold) return
  isTold = true
  for (const sentence of unknownVariables()) process.emitWarning(sentence, { type: 'Plimsoll' })
}
