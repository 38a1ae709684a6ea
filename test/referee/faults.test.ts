import { afterEach, describe, expect, it } from 'vitest'
import { classifyProviderError } from '../../src/formats/overflow/classify.ts'
import { createSseParser } from '../../src/formats/framing.ts'
import { createReferee, say, startReferee, type Fault, type RunningReferee } from '../../src/testing/referee/index.ts'
import { bodyOf, HEADERS, pathOf, post, postHttp, textOf, WIRES } from './ask.ts'

const running: RunningReferee[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((referee) => referee.close()))
})

const start = async (options: Parameters<typeof startReferee>[0]) => {
  const referee = await startReferee(options)
  running.push(referee)
  return referee
}

const first = (fault: Fault) => ({
  faults: [{ on: 1, fault }],
  script: () => say('A longer answer, so that a stream has several events.'),
})

describe.each(WIRES)('faults of the %s referee', (wire) => {
  it.each<[string, Fault, number]>([
    ['overloaded', { kind: 'overloaded' }, wire === 'anthropic-messages' ? 529 : 503],
    ['throttle', { kind: 'throttle', retryAfterSeconds: 7 }, 429],
    ['server-error', { kind: 'server-error' }, 500],
    ['server-error', { kind: 'server-error', status: 502 }, 502],
    ['html-413', { kind: 'html-413' }, 413],
  ])('answers %s once, then works', async (kind, fault, status) => {
    const referee = createReferee({ wire, ...first(fault) })
    expect((await post(referee, bodyOf(wire))).status).toBe(status)
    expect((await post(referee, bodyOf(wire))).status).toBe(200)
    expect(referee.log.map((exchange) => exchange.fault)).toEqual([kind, undefined])
    expect(referee.summary()).toMatchObject({ requests: 2, answered: 1, faults: 1, overflows: 0, invalid: 0 })
  })

  it('words throttling, overflow and body size so that they can be told apart', async () => {
    const throttled = await post(createReferee({ wire, ...first({ kind: 'throttle' }) }), bodyOf(wire))
    const over = await post(createReferee({ wire, window: 100 }), bodyOf(wire, 'word '.repeat(1_000)))
    const html = await post(createReferee({ wire, bodyLimitBytes: 10, bodyLimitStyle: 'html' }), bodyOf(wire))
    const large = await post(createReferee({ wire, bodyLimitBytes: 10 }), bodyOf(wire))
    const kinds = [throttled, over, html, large].map(
      ({ status, text }) => classifyProviderError({ status, body: text }).kind,
    )
    expect(kinds).toEqual(['throttle', 'overflow', 'body-size', 'body-size'])
    expect(throttled.headers['retry-after']).toBe('1')
    // Responses names no numbers; the others say what fits.
    const { limit } = classifyProviderError({ status: over.status, body: over.text })
    expect(limit).toBe(wire === 'openai-responses' ? undefined : 100)
    expect(html.text).toContain('<html>')
  })

  it('cuts a stream in the middle, in process and over a socket', async () => {
    const options = { wire, ...first({ kind: 'cut-stream', afterEvents: 2 }) }
    const referee = createReferee(options)
    const raw = Buffer.from(JSON.stringify(bodyOf(wire, 'Go', true)))
    const response = await referee.handle({ method: 'POST', path: pathOf(wire, true), headers: HEADERS, body: raw })
    const parser = createSseParser()
    let events = 0
    const read = async () => {
      for await (const chunk of response.body) events += parser.push(chunk).length
    }
    await expect(read()).rejects.toThrow('cut')
    expect(events).toBe(2)
    const live = await start(options)
    const over = await postHttp(live, bodyOf(wire, 'Go', true), {}, true)
    expect(over.status).toBe(200)
    const overHttp = createSseParser()
    let arrived = 0
    const readAll = async () => {
      for await (const chunk of over.body ?? []) arrived += overHttp.push(chunk).length
    }
    await expect(readAll()).rejects.toThrow(TypeError)
    expect(arrived).toBe(2)
  })

  it('cuts a whole answer in the middle', async () => {
    const live = await start({ wire, ...first({ kind: 'cut-stream' }) })
    const response = await postHttp(live, bodyOf(wire))
    await expect(response.json()).rejects.toThrow()
  })

  it('hangs until the client gives up, or the referee closes', async () => {
    const live = await start({ wire, ...first({ kind: 'hang' }), faults: [{ on: [1, 2], fault: { kind: 'hang' } }] })
    const patience = new AbortController()
    const given = postHttp(live, bodyOf(wire), { signal: patience.signal })
    const outcome = given.catch((error: unknown) => (error as Error).name)
    while (live.log.length === 0) await new Promise(setImmediate)
    patience.abort()
    expect(await outcome).toBe('AbortError')
    const second = postHttp(live, bodyOf(wire)).catch(() => 'closed')
    while (live.log.length === 1) await new Promise(setImmediate)
    await live.close()
    expect(await second).toBe('closed')
  })

  it('sends an error event in the middle of a stream', async () => {
    const referee = createReferee({ wire, ...first({ kind: 'error-event', afterEvents: 1 }) })
    const { status, text } = await post(referee, bodyOf(wire, 'Go', true), { stream: true })
    const parser = createSseParser()
    const events = [...parser.push(text), ...parser.end()]
    expect(status).toBe(200)
    expect(events).toHaveLength(2)
    expect(events[1]?.data).toContain('Overloaded')
  })

  it('keeps the newest tokens in silence, as a local server does', async () => {
    const options = { wire, window: 500, tokenizer: (text: string) => text.length, overflow: 'truncate-front' } as const
    const referee = createReferee(options)
    const { status, text } = await post(referee, bodyOf(wire, 'x'.repeat(2_000)))
    expect(status).toBe(200)
    expect(text).toContain('500')
    expect(referee.log[0]).toMatchObject({ inputTokens: 500, overflow: false })
    expect(referee.log[0]?.truncatedTokens).toBeGreaterThan(1_400)
    expect(referee.summary()).toMatchObject({ truncations: 1, overflows: 0 })
  })

  it('refuses what is no JSON, no object, too deep, or not UTF-8', async () => {
    const referee = createReferee({ wire })
    const deep = `{"messages":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    const bodies = ['', '{"model":', '7', 'null', '[]', deep].map((text) => Buffer.from(text))
    for (const body of [...bodies, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])]) {
      const response = await referee.handle({ method: 'POST', path: pathOf(wire), headers: HEADERS, body })
      expect(response.status).toBe(400)
      expect(response.headers['x-referee-rule']).toBe('valid-json')
      JSON.parse(await textOf(response))
    }
    expect(referee.summary().invalid).toBe(7)
  })

  it('asks for a key and for a path it knows', async () => {
    const referee = createReferee({ wire, apiKey: 'secret' })
    const raw = Buffer.from(JSON.stringify(bodyOf(wire)))
    const missing = await referee.handle({ method: 'POST', path: pathOf(wire), headers: {}, body: raw })
    const wrong = await post(referee, bodyOf(wire))
    const unknown = await referee.handle({ method: 'POST', path: '/v1/elsewhere', headers: HEADERS, body: raw })
    expect([missing.status, wrong.status < 500 && wrong.status >= 400, unknown.status]).toEqual([401, true, 404])
    expect(referee.summary().answered).toBe(0)
  })
})

it('what a script throws is in the answer, is not asked for again, and comes out of close', async () => {
  let asked = 0
  const referee = await startReferee({
    wire: 'anthropic-messages',
    script() {
      asked++
      throw new Error('expected 2 to be 3')
    },
  })
  const response = await postHttp(referee, bodyOf('anthropic-messages'))
  expect([response.status, asked]).toEqual([400, 1])
  expect(await response.text()).toContain('The script failed: expected 2 to be 3')
  await expect(referee.close()).rejects.toThrow('expected 2 to be 3')
})
