import { afterEach, describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../src/core/events.ts'
import { createPlimsoll, type Plimsoll, type PlimsollOptions } from '../../src/plimsoll.ts'

const opened: Plimsoll[] = []
afterEach(async () => {
  for (const plimsoll of opened.splice(0)) await plimsoll.close()
})

const open = (options: PlimsollOptions = {}): Plimsoll => {
  const plimsoll = createPlimsoll({ store: 'memory:', secret: new Uint8Array(32).fill(3), window: 16_000, ...options })
  opened.push(plimsoll)
  return plimsoll
}

const ROWS = Array.from({ length: 5_000 }, (_, id) => ({ id, node: `node-${id % 7}`, ms: (id * 37) % 1_000 }))

async function stored(plimsoll: Plimsoll): Promise<string> {
  const output = JSON.stringify(ROWS)
  const shown = await plimsoll.session({ id: 's' }).toolResult({ tool: 'kubectl', output })
  expect(Buffer.from((await plimsoll.artifacts.read(shown.artifact!))!).toString()).toBe(output)
  return shown.artifact!
}

describe('plimsoll.artifacts', () => {
  it('reads, greps, queries and runs code over what toolResult took out', async () => {
    const { artifacts, ...plimsoll } = open()
    const handle = await stored({ artifacts, ...plimsoll })
    expect(await artifacts.stat(handle)).toMatchObject({ items: 5_000, contentKind: 'json-array', tool: 'kubectl' })
    const part = await artifacts.read(handle, { range: { start: 1, end: 40 } })
    expect(Buffer.from(part!).toString()).toBe(JSON.stringify(ROWS).slice(1, 40))
    expect((await artifacts.grep(handle, { pattern: '"id":4999,' })).text).toContain('1 match')
    const sql = 'SELECT node, count(*) n, max(ms) most FROM t GROUP BY 1 ORDER BY 1 LIMIT 1'
    expect((await artifacts.query(handle, { sql })).text).toMatch(/node-0.*715.*99\d/s)
    expect((await artifacts.query(handle)).text).toMatch(/\bid\b.*\bnode\b.*\bms\b/s)
    const run = await artifacts.run(handle, { code: 'data.filter((row) => row.ms > 990).length' })
    expect(run.text.split('\n')[0]).toBe(String(ROWS.filter(({ ms }) => ms > 990).length))
    expect(run.handles).toEqual([handle])
  }, 30_000)

  it('keeps tenants apart', async () => {
    const plimsoll = open()
    const handle = await stored(plimsoll)
    await expect(plimsoll.artifacts.grep(handle, { pattern: 'x', tenant: 'other' })).rejects.toMatchObject({
      code: 'not-found',
    })
  })

  it('says what is missing where an engine is switched off, with a sample and the handle in place of code', async () => {
    const plimsoll = open({ sql: false, sandbox: false })
    const handle = await stored(plimsoll)
    await expect(plimsoll.artifacts.query(handle, { sql: 'SELECT 1' })).rejects.toMatchObject({ code: 'unsupported' })
    const { text } = await plimsoll.artifacts.run(handle, { code: '1' })
    expect(text).toContain(handle)
    expect(text).toMatch(/Fields: id number, node string, ms number/)
  })

  it('extracts with the summarizer, or with a model of its own, and says what that took', async () => {
    const events: PlimsollEvent[] = []
    const answering = (name: string) => (prompt: string) => {
      const tag = /<answer-\w+>/.exec(prompt)![0]
      return `${tag}${name} read it${tag.replace('<', '</')}`
    }
    for (const [options, name] of [
      [{ summarizer: answering('the summarizer') }, 'the summarizer'],
      [{ summarizer: answering('the summarizer'), extraction: answering('the extractor') }, 'the extractor'],
    ] as const) {
      const plimsoll = open({ ...options, onEvent: (event) => events.push(event) })
      const handle = await stored(plimsoll)
      const answer = await plimsoll.artifacts.extract(handle, { extract: 'the slowest node' })
      expect(answer.text).toContain(`${name} read it`)
      expect(answer.mode).toBe('full-chunked')
    }
    expect(events.filter(({ type }) => type === 'usage-recorded')).toEqual([
      expect.objectContaining({ purpose: 'extract', tenant: 'local' }),
      expect.objectContaining({ purpose: 'extract', tenant: 'local' }),
    ])
  })
})

describe('summaries of known tools', () => {
  it('stand in the view: eight that ship, and your own', async () => {
    const plimsoll = open({
      toolSummaries: { list_pods: (result) => `${(result as unknown[]).length} pods, all of them` },
    })
    const agent = plimsoll.session({ id: 's' })
    const output = JSON.stringify(ROWS)
    expect((await agent.toolResult({ tool: 'list_pods', output })).text).toContain('5000 pods, all of them')
    expect((await agent.toolResult({ tool: 'list_log_entries', output })).text).toContain('Retrieved 5000 log entries')
  })
})
