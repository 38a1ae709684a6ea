import { z } from 'zod'
import type { Wire } from '../../src/testing/referee/index.ts'
import { logOf } from './scenario.ts'

type Fetch = typeof globalThis.fetch

interface Settings {
  readonly apiKey: string
  readonly fetch: Fetch
}

/** The provider packages of one version of the AI SDK; each version has its own. */
export interface ProviderPackages<Model> {
  anthropic(settings: Settings): (model: 'claude-sonnet-4-5') => Model
  openai(settings: Settings): { chat(model: 'gpt-4.1'): Model; responses(model: 'gpt-4.1'): Model }
  google(settings: Settings): (model: 'gemini-2.5-pro') => Model
}

/** A model on each API format, by the name of its provider. */
export const providersOf = <Model>({
  anthropic,
  openai,
  google,
}: ProviderPackages<Model>): readonly [string, Wire, (fetch: Fetch) => Model][] => [
  ['anthropic', 'anthropic-messages', (fetch) => anthropic({ apiKey: 'k', fetch })('claude-sonnet-4-5')],
  ['openai, chat', 'openai-chat', (fetch) => openai({ apiKey: 'k', fetch }).chat('gpt-4.1')],
  ['openai, responses', 'openai-responses', (fetch) => openai({ apiKey: 'k', fetch }).responses('gpt-4.1')],
  ['google', 'gemini', (fetch) => google({ apiKey: 'k', fetch })('gemini-2.5-pro')],
]

/** What `tool()` of either version makes a tool of. */
export const READ_LOG = {
  description: 'Reads a log.',
  inputSchema: z.object({ step: z.number() }),
  execute: ({ step }: { readonly step: number }) => Promise.resolve(logOf(step)),
}
