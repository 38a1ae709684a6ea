import type { Variable } from '../../src/settings/variables.ts'

/** Variables of others that are obeyed as their owners define them. */
export const FOREIGN_VARIABLES: readonly Variable[] = [
  { name: 'NO_COLOR', about: 'Any value: no colours.' },
  { name: 'FORCE_COLOR', about: 'Colours also where the output is no terminal; `0` or `false`: none.' },
  { name: 'TERM', about: '`dumb`: no colours and no animation.' },
  { name: 'HTTPS_PROXY', about: 'The proxy that upstreams are reached through; `HTTP_PROXY` and `NO_PROXY` as well.' },
  { name: 'NODE_EXTRA_CA_CERTS', about: 'Further certificate authorities, read by Node itself.' },
  { name: 'OLLAMA_HOST', about: 'Where `plimsoll chat --provider ollama` finds Ollama.' },
  { name: 'OLLAMA_CONTEXT_LENGTH', about: 'Context window of that Ollama. Default: 4096.' },
  { name: 'CLAUDE_CONFIG_DIR', about: 'Where `inspect` and `doctor` look for Claude Code. Default: `~/.claude`.' },
  { name: 'CODEX_HOME', about: 'Where they look for Codex. Default: `~/.codex`.' },
  { name: 'PI_CODING_AGENT_DIR', about: 'Where they look for pi. Default: `~/.pi/agent`.' },
  { name: 'XDG_DATA_HOME', about: 'Where they look for OpenCode. Default: `~/.local/share`.' },
  {
    name: 'AWS_ACCESS_KEY_ID',
    about:
      'Credentials for `--artifacts s3://…`; also `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION` or `AWS_DEFAULT_REGION`, and `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL` for other servers.',
  },
]
