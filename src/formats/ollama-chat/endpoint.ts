import { bearer, type Endpoint } from '../wire/endpoint.ts'

export const endpoint: Endpoint = {
  name: 'ollama',
  label: 'Ollama',
  url: 'http://127.0.0.1:11434',
  sdkPath: '',
  isLocal: true,
  keys: [],
  bases: ['OLLAMA_HOST'],
  // Only the vendor's cloud, and gateways in front of a server, want a key.
  headers: bearer,
  credentials: ['authorization'],
  modelVariable: 'OLLAMA_MODEL',
  owns: () => false,
  ownsPath: (path) => path.startsWith('/api/'),
}
