import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StreamEvent } from '../../src/core/codec.ts'
import { createSseParser, formatSseComment, formatSseEvent, SSE_DONE } from '../../src/formats/framing.ts'

const parse = (chunks: readonly (Uint8Array | string)[]): StreamEvent[] => {
  const parser = createSseParser()
  return [...chunks.flatMap((chunk) => parser.push(chunk)), ...parser.end()]
}

describe('SSE parser', () => {
  it('reads events, names and data of several lines', () => {
    expect(parse(['event: ping\ndata: {"a":1}\n\ndata: one\ndata: two\n\n'])).toEqual([
      { event: 'ping', data: '{"a":1}' },
      { data: 'one\ntwo' },
    ])
  })

  it.each([
    ['LF', '\n'],
    ['CR', '\r'],
    ['CRLF', '\r\n'],
  ])('takes %s as the end of a line, at every cut', (_name, end) => {
    const bytes = Buffer.from(`event: a${end}data: é🚢${end}${end}data: b${end}${end}`)
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(parse([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual([{ event: 'a', data: 'é🚢' }, { data: 'b' }])
    }
  })

  it('skips comments', () => {
    const parser = createSseParser()
    expect(parser.push(`${formatSseComment('OPENROUTER PROCESSING')}data: x\n\n:\n\n`)).toEqual([{ data: 'x' }])
  })

  it('hands [DONE] on as data', () => {
    expect(parse([`data: ${SSE_DONE}\n\n`])).toEqual([{ data: '[DONE]' }])
  })

  it('drops events without data, also named ones', () => {
    expect(parse(['event: ping\n\nid: 7\nretry: 10\n\ndata: x\n\n'])).toEqual([{ data: 'x' }])
  })

  it('keeps an empty data line, a missing blank after the colon and a colon in the data', () => {
    expect(parse(['data\n\ndata:a:b\n\ndata:  c\n\n'])).toEqual([{ data: '' }, { data: 'a:b' }, { data: ' c' }])
  })

  it('gives the last event although the stream ends without a blank line', () => {
    expect(parse(['data: x\n\ndata: y'])).toEqual([{ data: 'x' }, { data: 'y' }])
    expect(parse(['data: x\n\ndata: y\n'])).toEqual([{ data: 'x' }, { data: 'y' }])
  })

  it('takes a byte order mark off', () => {
    expect(parse([Buffer.from('\uFEFFdata: x\n\n')])).toEqual([{ data: 'x' }])
  })

  it('refuses an event that never ends instead of keeping it', () => {
    const parser = createSseParser({ maxEventChars: 1_000 })
    const grow = (): void => {
      for (let round = 0; round < 20; round += 1) parser.push('x'.repeat(100))
    }
    expect(grow).toThrow(RangeError)
  })

  it('forgets the size of finished events', () => {
    const parser = createSseParser({ maxEventChars: 50 })
    for (let round = 0; round < 100; round += 1) expect(parser.push('data: 123456789\n\n')).toHaveLength(1)
  })

  it('gives back what the writer wrote, however the bytes are cut', () => {
    const seed = 20_261_115
    console.info(`sse round trip: seed ${seed}`)
    const line = fc.string({ unit: 'grapheme', maxLength: 30 })
    const event = fc.record({
      event: fc.option(fc.stringMatching(/^[a-z_.]{1,12}$/), { nil: undefined }),
      data: fc
        .array(
          line.filter((text) => !/[\r\n]/.test(text)),
          { minLength: 1, maxLength: 4 },
        )
        .map((lines) => lines.join('\n')),
    })
    const property = fc.property(
      fc.array(event, { maxLength: 8 }),
      fc.array(fc.nat(500), { maxLength: 12 }),
      (events, cuts) => {
        const written = events.map(({ event: name, data }) => (name === undefined ? { data } : { event: name, data }))
        const bytes = Buffer.from(written.map((one) => formatSseEvent(one)).join(''))
        const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length]
        const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index], end))
        expect(parse(chunks)).toEqual(written)
      },
    )
    fc.assert(property, { seed, numRuns: 1_000 })
  })
})
