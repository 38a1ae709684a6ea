import { describe, expect, it } from 'vitest'
import { createSseParser } from '../../src/formats/framing.ts'
import {
  createHiddenTokenizer,
  createReferee,
  say,
  type Referee,
  type UsageMode,
} from '../../src/testing/referee/index.ts'
import type { SdkWire as Wire } from '../support/sdk-wires.ts'
import { bodyOf, post, WIRES } from './ask.ts'

/** Every number of prompt tokens that an answer tells, in order. */
function promptTokens(text: string): number[] {
  const found = text.matchAll(/"(?:input_tokens|prompt_tokens|promptTokenCount)":(\d+)/g)
  return [...found].map((match) => Number(match[1]))
}

const make = (wire: Wire, usage: UsageMode): Referee => createReferee({ wire, usage, script: () => say('ok') })

/** A streaming body that asks for usage where the wire wants to be asked. */
const streaming = (wire: Wire): object => ({
  ...bodyOf(wire, 'Go', true),
  ...(wire === 'openai-chat' && { stream_options: { include_usage: true } }),
})

const eventsOf = async (referee: Referee): Promise<string[]> => {
  const { text } = await post(referee, streaming(referee.wire as Wire), { stream: true })
  return createSseParser()
    .push(text)
    .map(({ data }) => data)
}

describe.each(WIRES)('usage that the %s referee reports', (wire) => {
  it('is the true count, whole and streamed', async () => {
    const referee = make(wire, 'on')
    expect(promptTokens((await post(referee, bodyOf(wire))).text)).toEqual([referee.log[0]?.inputTokens])
    const streamed = (await eventsOf(referee)).flatMap(promptTokens)
    expect(streamed.at(-1)).toBe(referee.log[1]?.inputTokens)
  })

  it('is missing when off', async () => {
    const referee = make(wire, 'off')
    const texts = [(await post(referee, bodyOf(wire))).text, ...(await eventsOf(referee))]
    expect(texts.flatMap(promptTokens)).toEqual([])
    expect(referee.log[0]?.usage?.input).toBeGreaterThan(0)
  })

  it('is zero when zero', async () => {
    const referee = make(wire, 'zero')
    expect(promptTokens((await post(referee, bodyOf(wire))).text)).toEqual([0])
    expect(new Set((await eventsOf(referee)).flatMap(promptTokens))).toEqual(new Set([0]))
  })

  it('is that of the call before when late', async () => {
    const referee = make(wire, 'late')
    const told: number[][] = []
    for (const text of ['one', 'two and a half', 'three'])
      told.push(promptTokens((await post(referee, bodyOf(wire, text.repeat(50)))).text))
    expect(told).toEqual([[], [referee.log[0]?.inputTokens], [referee.log[1]?.inputTokens]])
  })

  it('comes with the last events only when at the end of a stream', async () => {
    const referee = make(wire, 'stream-end')
    const perEvent = (await eventsOf(referee)).map(promptTokens)
    const real = perEvent.flatMap((numbers, index) => (numbers.some((n) => n > 0) ? [index] : []))
    expect(real).toHaveLength(1)
    expect(real[0]).toBeGreaterThanOrEqual(perEvent.length - 2)
  })
})

describe('hidden tokenizer', () => {
  const samples = {
    prose: 'The ship was loaded with grain and left the harbour in the early morning, bound for the north. '.repeat(20),
    code: 'for (let i = 0; i < list.length; i += 1) { sum += list[i] * (weights[i] ?? 1); }\n'.repeat(20),
    json: JSON.stringify(Array.from({ length: 50 }, (_unused, id) => ({ id, name: `item-${id}`, ok: true }))),
    cjk: '船は朝早く港を出て北へ向かった。'.repeat(30),
  }

  it('is the same for the same seed and another for another', () => {
    const [one, same, other] = [7, 7, 8].map((seed) => createHiddenTokenizer({ seed }))
    for (const text of Object.values(samples)) expect(one?.(text)).toBe(same?.(text))
    expect(Object.values(samples).map((text) => one?.(text))).not.toEqual(
      Object.values(samples).map((text) => other?.(text)),
    )
  })

  it('counts by content class, and takes any ratio', () => {
    const count = createHiddenTokenizer({ spread: 0, jitter: 0 })
    const perToken = (text: string) => text.length / count(text)
    expect(perToken(samples.prose)).toBeCloseTo(4.2, 1)
    expect(perToken(samples.code)).toBeCloseTo(2.9, 1)
    expect(perToken(samples.json)).toBeCloseTo(2.5, 1)
    expect(perToken(samples.cjk)).toBeCloseTo(1.3, 1)
    const odd = createHiddenTokenizer({ spread: 0, jitter: 0, charsPerToken: { prose: 0.5 } })
    expect(odd(samples.prose)).toBe(samples.prose.length * 2)
  })

  it('counts nothing as nothing and anything as something', () => {
    const count = createHiddenTokenizer()
    expect([count(''), count('x')]).toEqual([0, 1])
  })
})
