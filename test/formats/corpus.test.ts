import { existsSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { applyEdits, type Edit } from '../../src/core/edits.ts'
import { turnsOf } from '../../src/core/turns.ts'
import { indexJson, member } from '../../src/formats/json-index.ts'
import type { WireName } from '../support/generators/index.ts'
import { sharedFolder, sharedText } from '../support/shared-data.ts'
import { CODECS } from '../support/wires.ts'

/** Recorded traffic. The floors are what there is; fewer would mean that a reader lost something. */
const SOURCES: readonly { wire: WireName; name: string; floor: number; bodies: () => string[] }[] = [
  { wire: 'anthropic-messages', name: 'exact requests', floor: 144, bodies: () => exact('anthropic') },
  { wire: 'openai-chat', name: 'exact requests', floor: 555, bodies: () => exact('openai-chat') },
  { wire: 'openai-responses', name: 'exact requests', floor: 107, bodies: () => exact('openai-responses') },
  { wire: 'gemini', name: 'exact requests', floor: 131, bodies: () => exact('google') },
  { wire: 'openai-chat', name: 'histories of an SRE agent', floor: 5, bodies: holmes },
  { wire: 'openai-chat', name: 'tau-bench trajectories', floor: 24, bodies: tauBench },
  { wire: 'openai-responses', name: 'Codex rollouts', floor: 5, bodies: codex },
  { wire: 'anthropic-messages', name: 'Claude Code sessions', floor: 19, bodies: claudeCode },
]

const TRANSCRIPTS = sharedFolder('transcripts')
const isThere = existsSync(TRANSCRIPTS)
if (!isThere) console.warn('The shared data is not here: the law ran on fixtures and generated bodies only.')

const filesIn = (folder: string, ending: RegExp): string[] =>
  readdirSync(sharedFolder(`transcripts/${folder}`))
    .filter((name) => ending.test(name))
    .map((name) => sharedText(`transcripts/${folder}/${name}`)!)

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '')

/** The request as it stands in its line, byte for byte. */
function exact(provider: string): string[] {
  return linesOf(sharedText(`transcripts/token-usage/exact-${provider}.jsonl.gz`)!).map((line) => cut(line, 'request')!)
}

function cut(text: string, key: string): string | undefined {
  return indexJson(text).rawAt([key])
}

function holmes(): string[] {
  return filesIn('openai-chat', /\.json(?:\.gz)?$/).map((text) => `{"messages":${text}}`)
}

function tauBench(): string[] {
  const [text] = filesIn('tau-bench', /\.json\.gz$/)
  return indexJson(text!).items!.map((run) => `{"messages":${run.rawAt(['traj'])!}}`)
}

function codex(): string[] {
  return filesIn('codex-rollout', /\.jsonl\.gz$/).map((text) => {
    const items = linesOf(text).flatMap((line) => {
      const root = indexJson(line)
      return member(root, 'type')?.value === 'response_item' ? [root.rawAt(['payload'])!] : []
    })
    return `{"model":"gpt-5.5","input":[${items.join(',')}]}`
  })
}

/** Lines of one response are separate assistant messages here; the law does not mind. */
function claudeCode(): string[] {
  return filesIn('claude-code', /\.jsonl\.gz$/).map((text) => {
    const messages = linesOf(text).flatMap((line) => {
      try {
        const root = indexJson(line)
        const type = member(root, 'type')?.value
        return type === 'user' || type === 'assistant' ? [root.rawAt(['message'])!] : []
      } catch {
        // One session has a line with two objects, as found.
        return []
      }
    })
    return `{"model":"claude-opus-4-5","max_tokens":1024,"messages":[${messages.join(',')}]}`
  })
}

describe('recorded bodies', () => {
  for (const { wire, name, floor, bodies } of SOURCES) {
    it(`keeps the law on ${name} of ${wire}`, () => {
      const texts = isThere ? bodies() : []
      const { decode, encode } = CODECS[wire]
      let items = 0
      for (const text of texts) {
        const conversation = decode(text)
        items += conversation.items.length
        expect(encode(conversation).text === text).toBe(true)
        // Half of the items away, every third result shortened: what is left is read back as it was.
        const plan = conversation.items.flatMap((item, i): Edit[] => {
          if (i % 2 === 1) return [{ op: 'drop', id: item.id, reason: 'test' }]
          if (item.kind !== 'result' || item.sealed === true || i % 3 !== 0) return []
          return [{ op: 'replace', id: item.id, text: 'short', reason: 'test' }]
        })
        const edited = applyEdits(conversation, plan)
        const again = decode(encode(edited).text)
        expect([...again.head, ...again.items].map((item) => item.text)).toEqual(
          [...conversation.head, ...edited.items].map((item) => item.text),
        )
      }
      console.info(`${wire}: ${texts.length} ${name} with ${items} items`)
      if (isThere) expect(texts.length).toBeGreaterThanOrEqual(floor)
    })
  }

  it('finds a result for every call of the exact requests', () => {
    if (!isThere) return
    for (const [wire, provider] of [
      ['anthropic-messages', 'anthropic'],
      ['openai-chat', 'openai-chat'],
      ['gemini', 'google'],
    ] as const) {
      const orphans = exact(provider).flatMap((text) => turnsOf(CODECS[wire].decode(text).items).orphans)
      expect(orphans).toEqual([])
    }
  })
})
