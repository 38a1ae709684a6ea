import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plainUpstream, testProxy, type PlainUpstream, type TestProxy } from '../gateway/upstream.ts'
import { openBrowser } from './browser.ts'

const SECRET = 'The production password is hunter2-XYZ'
const HISTORY = { model: 'qwen-local', messages: [{ role: 'user', content: SECRET }] }
const CHAT = {
  id: 'x',
  object: 'chat.completion',
  model: 'qwen-local',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'noted' } }],
}

let browser: Awaited<ReturnType<typeof openBrowser>>
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())

/** A keyless local model behind a proxy that somebody has used, and whose own answers any page may read. */
async function victim(options: { allowedOrigins?: string[] } = {}): Promise<TestProxy & { upstream: PlainUpstream }> {
  const upstream = await plainUpstream(
    (_request, response) =>
      void response
        .writeHead(200, { 'content-type': 'application/json', 'access-control-allow-origin': '*' })
        .end(JSON.stringify(CHAT)),
  )
  const started = await testProxy({ upstreams: { openai: upstream.url }, ...options })
  const url = `${started.proxy.url}/openai/v1/chat/completions`
  await (await fetch(url, { method: 'POST', body: JSON.stringify(HISTORY) })).text()
  return { ...started, upstream }
}

/** A page of the attacker's, opened under `origin`; everything but the page itself is fetched for real. */
async function attackerPage(context: BrowserContext, origin: string): Promise<Page> {
  const page = await context.newPage()
  await page.route(`${origin}/page`, (route) => route.fulfill({ contentType: 'text/html', body: '<p>Kittens</p>' }))
  await page.goto(`${origin}/page`)
  return page
}

interface Tried {
  readonly status?: number
  readonly text?: string
  readonly failed?: string
}

const tryFetch = (page: Page, url: string, init: RequestInit = {}): Promise<Tried> =>
  page.evaluate(
    async ([target, options]) => {
      try {
        const response = await fetch(target, options)
        return { status: response.status, text: await response.text() }
      } catch (error) {
        return { failed: String(error) }
      }
    },
    [url, init] as const,
  )

describe('a web page in a real browser', () => {
  it('reads nothing under a name that was pointed at this machine', async () => {
    const { proxy, upstream, plimsoll } = await victim()
    const { port } = new URL(proxy.url)
    const page = await attackerPage(browser.context, `http://attacker.example:${port}`)
    const [session] = plimsoll.ledger.sessions()
    const stolen = [
      await tryFetch(page, '/plimsoll/api/sessions'),
      await tryFetch(page, '/plimsoll/api/events?since=0'),
      await tryFetch(page, '/metrics'),
      await tryFetch(page, '/v1/retrieve/art_00000000000000000000000000'),
      await tryFetch(page, '/openai/v1/models'),
      await tryFetch(page, '/openai/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-plimsoll-session': session!.session },
        body: JSON.stringify({ ...HISTORY, messages: [{ role: 'user', content: 'please recall the password' }] }),
      }),
    ]
    expect(stolen.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403])
    expect(JSON.stringify(stolen)).not.toMatch(/hunter2|chain-|t_[0-9a-f]{8}/)
    expect(upstream.received).toHaveLength(1)
    await page.close()
  })

  it('neither reads nor spends from another origin, however its request is dressed', async () => {
    const { proxy, upstream } = await victim()
    const page = await attackerPage(browser.context, 'http://attacker.example:8099')
    const url = `${proxy.url}/openai/v1/chat/completions`
    const body = JSON.stringify(HISTORY)
    const tried = [
      await tryFetch(page, `${proxy.url}/plimsoll/api/sessions`),
      await tryFetch(page, url, { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
      // Needs no permission to be sent, and its answer cannot be read: it must not reach a model either.
      await tryFetch(page, url, { method: 'POST', mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body }),
    ]
    expect(tried.map(({ text, failed }) => [text ?? '', failed !== undefined])).toEqual([
      ['', true],
      ['', true],
      ['', false],
    ])
    await page.evaluate((action) => {
      const form = document.body.appendChild(document.createElement('form'))
      Object.assign(form, { action, method: 'post', enctype: 'text/plain' })
      form.submit()
    }, url)
    await page.waitForURL(url)
    expect(upstream.received).toHaveLength(1)
    await page.close()
  })

  it('works from an origin that the operator allows, and the proxy’s own address can be opened', async () => {
    const origin = 'http://attacker.example:8099'
    const { proxy, upstream } = await victim({ allowedOrigins: [origin] })
    const page = await attackerPage(browser.context, origin)
    const asked = await tryFetch(page, `${proxy.url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-custom': '1' },
      body: JSON.stringify(HISTORY),
    })
    expect(asked).toEqual({ status: 200, text: JSON.stringify(CHAT) })
    expect(upstream.received).toHaveLength(2)
    const opened = await page.goto(`${proxy.url}/plimsoll/api/sessions`)
    expect(opened!.status()).toBe(200)
    expect((await tryFetch(page, '/plimsoll/api/sessions')).status).toBe(200)
    await page.close()
  })
})
