import { call, createReferee, say } from '../../src/testing/referee/index.ts'

/** Stands for the provider: it refuses what the real API refuses, and needs no key. Twenty steps of a tool, then an answer. */
export const vendorOf = (wire: 'openai-chat' | 'gemini') =>
  createReferee({
    wire,
    window: 16_000,
    script: ({ number }) => (number <= 20 ? call('read_log', { page: number }) : say('The disk of node 7 is full.')),
  })

export const pageOfLog = (page: number): string =>
  Array.from({ length: 200 }, (_, line) => `page ${page}: node ${line % 9} answered in ${line * 7} ms`).join('\n')
