/** An environment variable that Plimsoll reads. */
export interface Variable {
  readonly name: string
  readonly about: string
}

/** Variables of ours. The documentation is written from here, and a test compares the list with what the sources read. */
export const VARIABLES: readonly Variable[] = [
  {
    name: 'PLIMSOLL_HOME',
    about: 'Folder of the store, artifacts, learned limits and the updated model list. Default: `~/.plimsoll`.',
  },
  {
    name: 'PLIMSOLL_SECRET',
    about: 'Secret that handles and tenant ids are made with. Default: one that the store keeps.',
  },
  { name: 'PLIMSOLL_KEY', about: 'Encrypts the store and artifacts: 64 hexadecimal digits, or 32 bytes of base64.' },
  { name: 'PLIMSOLL_KEY_FILE', about: 'A file that holds the same key.' },
  { name: 'PLIMSOLL_TOKEN', about: 'Token that callers of the proxy must send. Needed on any address but loopback.' },
  {
    name: 'PLIMSOLL_OPERATOR_TOKEN',
    about: 'Token that gives access to all tenants on the control routes and the dashboard.',
  },
  { name: 'PLIMSOLL_TENANTS', about: 'Same as `--tenants`: `credential`, `one` or `header:<name>`.' },
  { name: 'PLIMSOLL_REDACT', about: 'Same as `--redact`: takes secrets out of what is stored.' },
  { name: 'PLIMSOLL_CA_FILE', about: 'Same as `--ca-file`: PEM file with additional certificate authorities.' },
  {
    name: 'PLIMSOLL_LOG_LEVEL',
    about:
      'Same as `--log-level`, and for programs too: writes events from this level on as JSON lines to standard error: `debug`, `info`, `warning` or `error`.',
  },
  { name: 'PLIMSOLL_DEBUG', about: 'Any value: unexpected errors are printed with their stack.' },
]

/** By preset, the variables that its design defines. */
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
