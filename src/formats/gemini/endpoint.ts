import type { Endpoint } from '../wire/endpoint.ts'

export const endpoint: Endpoint = {
  name: 'gemini',
  provider: 'gcp.gemini',
  label: 'Gemini',
  url: 'https://generativelanguage.googleapis.com',
  sdkPath: '',
  isLocal: false,
  keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  bases: ['GOOGLE_GEMINI_BASE_URL', 'GEMINI_BASE_URL'],
  headers: (key): Record<string, string> => (key === undefined ? {} : { 'x-goog-api-key': key }),
  credentials: ['x-goog-api-key'],
  credentialQuery: 'key',
  modelVariable: 'GEMINI_MODEL',
  model: 'gemini-2.5-pro',
  owns: (model) => /gemini/i.test(model),
  ownsPath: (path) => path.startsWith('/v1beta/'),
}
