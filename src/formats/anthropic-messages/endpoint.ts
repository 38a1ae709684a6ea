import { bearer, type Endpoint } from '../wire/endpoint.ts'

const VERSION = { 'anthropic-version': '2023-06-01' }

export const endpoint: Endpoint = {
  name: 'anthropic',
  label: 'Anthropic',
  url: 'https://api.anthropic.com',
  sdkPath: '',
  isLocal: false,
  keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'],
  bases: ['ANTHROPIC_BASE_URL'],
  headers: (key, variable) => ({
    ...VERSION,
    ...(variable === 'ANTHROPIC_AUTH_TOKEN' ? bearer(key) : key === undefined ? {} : { 'x-api-key': key }),
  }),
  credentials: ['x-api-key', 'authorization'],
  modelVariable: 'ANTHROPIC_MODEL',
  model: 'claude-sonnet-4-5',
  owns: (model) => /claude/i.test(model),
  ownsPath: (path, header) => path.startsWith('/v1/') && header('anthropic-version') !== undefined,
}
