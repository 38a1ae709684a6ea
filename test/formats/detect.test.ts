import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { detectFormat } from '../../src/formats/registry.ts'
import { codecOf, CODECS } from '../../src/formats/registry.ts'
import { arbitraryBodyText, WIRES } from '../support/generators/index.ts'
import { property } from '../support/property.ts'

const FOLDER = join(import.meta.dirname, '../fixtures/wire')

describe.each(WIRES)('%s', (wire) => {
  const names = readdirSync(join(FOLDER, wire)).filter((name) => name.endsWith('.request.json'))

  it.each(names)('is seen in %s', (name) => {
    expect(detectFormat(readFileSync(join(FOLDER, wire, name), 'utf8'))).toBe(wire)
  })

  it('is seen in generated bodies', () => {
    property(arbitraryBodyText(wire), (text) => {
      if (wire === 'bedrock-converse' && !/"role"|"system"|Config|request/.test(text)) return
      const isTelling = wire !== 'openai-chat' || /tool|function|image_url|system|developer|max_c|stream_o/.test(text)
      if (isTelling) expect(detectFormat(text)).toBe(wire)
    })
  })

  it('has its codec under its name', () => {
    expect(codecOf(wire)).toBe(CODECS[wire])
    expect(codecOf(wire).format).toBe(wire)
  })
})

it.each([
  ['{"model":"claude-opus-4-6","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}', 'anthropic-messages'],
  ['{"model":"gpt-4o","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}', 'openai-chat'],
  ['{"model":"anthropic/claude-opus-4-6","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}', 'openai-chat'],
  ['{"model":"gpt-5","previous_response_id":"resp_1"}', 'openai-responses'],
  ['{"model":"gpt-5","prompt":{"id":"pmpt_1"}}', 'openai-responses'],
  ['{"prompt_tokens":1}', undefined],
  ['{}', undefined],
  ['[]', undefined],
  ['half a bo', undefined],
])('sees in %s the wire %s', (text, expected) => {
  expect(detectFormat(text)).toBe(expected)
})

it('refuses a wire that there is none of', () => {
  expect(() => codecOf('smoke-signals')).toThrowError(expect.objectContaining({ code: 'unsupported' }))
  expect(() => codecOf('toString')).toThrowError(expect.objectContaining({ code: 'unsupported' }))
})
