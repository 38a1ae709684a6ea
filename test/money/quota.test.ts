import { describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../src/core/events.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { quotaIn } from '../../src/formats/quota.ts'
import { createMetrics } from '../../src/gateway/operate/metrics.ts'
import { storedQuotas } from '../../src/gateway/operate/quotas.ts'
import { createPlimsoll, type PlimsollOptions } from '../../src/index.ts'

const NOW = Date.UTC(2026, 0, 5)
const read = (headers: Record<string, string>, status = 200) =>
  quotaIn(Object.keys(headers), (name) => headers[name], status, NOW)

describe('what an answer’s headers say of its windows', () => {
  it.each([
    [
      'a subscription of Anthropic',
      {
        'anthropic-ratelimit-unified-5h-utilization': '0.42',
        'anthropic-ratelimit-unified-5h-reset': '1767600000',
        'anthropic-ratelimit-unified-7d-utilization': '0.1',
        'anthropic-ratelimit-unified-status': 'allowed',
      },
      [
        { window: '5h', used: 0.42, resetsAt: 1_767_600_000_000 },
        { window: '7d', used: 0.1, resetsAt: undefined },
      ],
    ],
    [
      'a key of Anthropic',
      {
        'anthropic-ratelimit-input-tokens-limit': '200000',
        'anthropic-ratelimit-input-tokens-remaining': '50000',
        'anthropic-ratelimit-input-tokens-reset': '2026-01-05T00:01:00Z',
      },
      [{ window: 'input-tokens', used: 0.75, resetsAt: NOW + 60_000 }],
    ],
    [
      'a key of OpenAI',
      { 'x-ratelimit-limit-tokens': '1000', 'x-ratelimit-remaining-tokens': '250', 'x-ratelimit-reset-tokens': '6m0s' },
      [{ window: 'tokens', used: 0.75, resetsAt: NOW + 360_000 }],
    ],
    [
      'a gateway',
      { 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': '30' },
      [{ window: 'requests', used: expect.closeTo(0.1, 10) as number, resetsAt: NOW + 30_000 }],
    ],
    [
      'a plan of ChatGPT',
      {
        'x-codex-primary-used-percent': '12.5',
        'x-codex-primary-window-minutes': '300',
        'x-codex-primary-reset-after-seconds': '60',
      },
      [{ window: '5h', used: 0.125, resetsAt: NOW + 60_000 }],
    ],
    ['nothing', { 'x-ratelimit-remaining': 'many', 'anthropic-ratelimit-unified-5h-utilization': '' }, []],
  ])('%s', (_, headers, windows) => {
    expect(read(headers)).toEqual(windows)
  })

  it('a refusal that says when to come back', () => {
    expect(read({ 'retry-after': '20' }, 429)).toEqual([{ window: 'retry', used: 1, resetsAt: NOW + 20_000 }])
    expect(read({ 'retry-after': '20' })).toEqual([])
  })
})

describe('a window of a provider', () => {
  function proxy(options: Partial<PlimsollOptions> = {}) {
    let now = NOW
    let used = '0.5'
    const store = memoryStore()
    const events: PlimsollEvent[] = []
    const plimsoll = createPlimsoll({
      store,
      artifacts: 'memory:',
      clock: { now: () => now },
      onEvent: (event) => events.push(event),
      fetch: async () =>
        Response.json(
          {
            id: 'm',
            type: 'message',
            role: 'assistant',
            content: [{ type: 'text', text: 'Hi' }],
            model: 'claude-sonnet-4-5',
            stop_reason: 'end_turn',
            usage: { input_tokens: 9, output_tokens: 2 },
          },
          {
            headers: {
              'anthropic-ratelimit-unified-5h-utilization': used,
              'anthropic-ratelimit-unified-5h-reset': String(NOW / 1_000 + 3_600),
            },
          },
        ),
      ...options,
    })
    return {
      store,
      events,
      plimsoll,
      use: (share: string) => void (used = share),
      wait: (seconds: number) => void (now += seconds * 1_000),
      async ask(agent: string): Promise<number> {
        const answer = await plimsoll.fetch('http://provider.test/v1/messages', {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'x-api-key': 'sk-1',
            'anthropic-version': '2023-06-01',
            'x-plimsoll-session': 's',
            'x-plimsoll-agent': agent,
          },
          body: JSON.stringify({
            model: 'claude-sonnet-4-5',
            max_tokens: 10,
            messages: [{ role: 'user', content: `Hello from ${agent}` }],
          }),
        })
        await answer.text()
        return answer.status
      },
    }
  }

  it('is told of per credential, in events, metrics and the store, and never with the key', async () => {
    const { ask, events, store, plimsoll } = proxy()
    await ask('main')
    await ask('main')
    const seen = events.filter(({ type }) => type === 'quota-seen')
    expect(seen).toMatchObject([{ window: '5h', used: 0.5, resetsAt: NOW + 3_600_000 }])
    const metrics = createMetrics()
    seen.forEach((event) => metrics.take(event))
    expect(metrics.text()).toMatch(/plimsoll_quota_used_ratio\{credential="[\w-]+",window="5h"\} 0\.5/)
    expect(await storedQuotas(store, 'local')).toMatchObject([{ windows: [{ window: '5h', used: 0.5 }] }])
    expect(JSON.stringify(seen)).not.toContain('sk-1')
    await plimsoll.close()
  })

  it('stops sub-agents where the settings say so, until it resets', async () => {
    const { ask, use, wait, plimsoll } = proxy({ quotas: [{ window: '5h', share: 0.8, agents: 'sub' }] })
    expect(await ask('searcher')).toBe(200)
    use('0.81')
    expect(await ask('main')).toBe(200)
    expect(await ask('searcher')).toBe(402)
    expect(await ask('main')).toBe(200)
    use('0.02')
    wait(3_601)
    expect(await ask('searcher')).toBe(200)
    await plimsoll.close()
  })
})
