import { describe, expect, it } from 'vitest'
import { autosre } from '../../src/engine/presets/index.ts'
import { highWater } from '../../src/engine/epoch/thresholds.ts'
import { call, chars, model, presetSession, result, textOf, user, type Content } from './session.ts'

const limit = (tokens: number) => ({
  window: tokens,
  tokens,
  buffer: 0,
  outputReserve: 0,
  bytes: 1e9,
  source: 'config' as const,
})
const events = (count: number, length: number): Content[] =>
  Array.from({ length: count }, (_, n) =>
    n % 2 === 0 ? user(`event ${n} ${chars(length)}`) : model(`event ${n} ${chars(length)}`),
  )

describe('the sliding window', () => {
  it.each([
    [1_000_000, 24_000],
    [200_000, 24_000],
    [32_000, 24_000],
    [16_000, 12_000],
  ])('with %i tokens it starts above %i', (tokens, line) => {
    expect(highWater(autosre(), limit(tokens))).toBe(line)
  })

  it.each([32_000, 200_000, 1_000_000])(
    'with a window of %i the result is measured at 32,000 or less',
    async (window) => {
      const history = [...events(31, 4_200)]
      const { report, load, contents } = await presetSession(autosre(), window).prepare(history)
      expect(report.newEpoch).toBeDefined()
      expect(load.count.high).toBeLessThanOrEqual(32_000)
      expect(contents.slice(-5)).toEqual(history.slice(-5))
    },
  )

  it.each([
    ['1 short event', events(1, 10), false],
    ['3 events of 40,000 characters', events(3, 40_000), false],
    ['9 events above the line', events(9, 12_000), false],
    ['10 events above the line', [...events(9, 11_000), user(chars(11_000))], true],
    ['15 short events', events(15, 100), false],
  ])('%s: compacts %s', async (_, history, compacts) => {
    const { report } = await presetSession(autosre(), 1_000_000).prepare(history)
    expect(report.newEpoch !== undefined).toBe(compacts)
  })

  it('caps the narrative at 2,000 tokens and keeps its newest lines', async () => {
    const { contents } = await presetSession(autosre(), 1_000_000).prepare(events(201, 600))
    const summary = contents.map(textOf).find((text) => text.includes('summary'))!
    expect(summary.length).toBeLessThan(10_000)
    expect(summary).toContain('event 195 ')
    expect(summary).not.toContain('event 3 ')
  })

  it('stays as it is until enough has come in again', async () => {
    const preset = presetSession(autosre(), 200_000)
    const history = events(31, 4_200)
    const first = await preset.prepare(history)
    const second = await preset.prepare([...history, model('Noted.'), user('Next.')])
    expect(second.report.newEpoch).toBeUndefined()
    expect(second.contents.slice(0, first.contents.length)).toEqual(first.contents)
  })

  it('tells what known tools found', async () => {
    const log = JSON.stringify({ result: { entries: [{}, {}] } })
    const trace = JSON.stringify({ result: { spans: [{ error: true }, {}], duration_ms: 120, root_cause: 'db lock' } })
    const history = [
      user('Investigate.'),
      call('c1', 'list_log_entries'),
      result('c1', log, 'list_log_entries'),
      call('c2', 'fetch_trace'),
      result('c2', trace, 'fetch_trace'),
      ...events(11, 12_000).slice(1),
      user('Next.'),
    ]
    const { text } = await presetSession(autosre(), 1_000_000).prepare(history)
    expect(text).toContain('Called tool: list_log_entries')
    expect(text).toContain('Retrieved 2 log entries')
    expect(text).toContain('Fetched a trace of 2 spans, 120 ms, 1 error')
    expect(text).toContain('root cause: db lock')
  })
})

describe('the emergency brake', () => {
  it('leaves one short message alone', async () => {
    expect((await presetSession(autosre(), 32_000).prepare([user('Hi.')])).report.untouched).toBe(true)
  })

  it('shows a single giant message as preview + handle instead of sending it', async () => {
    const { text, load, limit: fits } = await presetSession(autosre(), 32_000).prepare([user(chars(400_000))])
    expect(load.count.high).toBeLessThanOrEqual(fits.tokens)
    expect(text).toMatch(/art_[0-9a-z]{26}/)
  })
})

describe('large payloads', () => {
  const show = async (value: unknown, tool: string, env: Record<string, string> = {}) => {
    const preset = presetSession(autosre(env), 1_000_000)
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const { contents, report } = await preset.prepare([user('Go.'), call('c1', tool), result('c1', text, tool)])
    return { shown: textOf(contents[2]!), shortened: report.shortened }
  }
  const items = (count: number) => Array.from({ length: count }, (_, n) => ({ id: n, name: `item ${n}`, value: n * 2 }))

  it.each([
    ['10 items', items(10), false],
    ['50 items', items(50), false],
    ['60 items', items(60), true],
    ['5 items of 25,000 characters', Array.from({ length: 5 }, () => chars(25_000)), true],
    ['an empty list', [], false],
  ])('%s: handled %s', async (_, value, handled) => {
    const { shown, shortened } = await show(value, 'some_tool')
    expect(shortened.length > 0).toBe(handled)
    if (handled) expect(shown).toContain('"large_payload_handled":true')
  })

  it('is off when the environment says so', async () => {
    const { shortened } = await show(items(60), 'some_tool', { SRE_AGENT_LARGE_PAYLOAD_ENABLED: 'false' })
    expect(shortened).toEqual([])
  })

  it('takes its thresholds from the environment', async () => {
    expect(
      (
        await show(
          items(8).map((item) => ({ ...item, text: chars(2_000) })),
          't',
          { SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_ITEMS: '5' },
        )
      ).shortened,
    ).toHaveLength(1)
    expect(
      (
        await show(
          items(40).map((item) => ({ ...item, text: chars(2_000) })),
          't',
          { SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS: '50000' },
        )
      ).shortened,
    ).toHaveLength(1)
  })
})
