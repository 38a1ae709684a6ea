import { describe, expect, it } from 'vitest'
import { codecOf } from '../../src/formats/registry.ts'
import { testEngine } from '../support/engine.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { plainBody } from './support/plain-bodies.ts'

interface Content {
  readonly role: string
  readonly parts: readonly {
    readonly text?: string
    readonly functionCall?: object
    readonly functionResponse?: object
  }[]
}

const codec = codecOf('gemini')
const steps = Array.from({ length: 40 }, (_, n) => ({
  calls: Array.from({ length: 1 + (n % 3) }, (_, i) => ({ name: `tool${i}`, result: resultText(n + i, 500) })),
}))

describe('A6: the Gemini history', () => {
  it('starts with a plain user turn and has as many responses as calls wherever it was cut', async () => {
    let cut = 0
    for (let window = 2_500; window <= 12_000; window += 500) {
      const session = testEngine().session()
      for (let n = 4; n <= steps.length; n += 4) {
        const body = plainBody('gemini', [{ user: 'Look at everything.', steps: steps.slice(0, n) }])
        const turn = await session.prepare({ format: 'gemini', body, targets: [{ model: 'gemini-2.5-pro', window }] })
        expect(codec.check(JSON.parse(turn.text))).toEqual([])
        const { contents } = JSON.parse(turn.text) as { contents: Content[] }
        expect(contents[0]!.role).toBe('user')
        expect(contents[0]!.parts[0]!.text).toBe('Look at everything.')
        for (const [i, { parts }] of contents.entries()) {
          const calls = parts.filter((part) => part.functionCall !== undefined).length
          const answered = contents[i + 1]?.parts.filter((part) => part.functionResponse !== undefined).length
          if (calls > 0) expect(answered).toBe(calls)
        }
        expect(contents.at(-1)!.role).not.toBe('model')
        if (turn.edits.length > 0) cut++
      }
    }
    expect(cut).toBeGreaterThan(50)
  })
})
