import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import { plimsollPlugin } from '../../src/adapters/opencode.ts'
import { createReferee, say } from '../../src/testing/referee/index.ts'
import { logOf } from './scenario.ts'

describe('the OpenCode plugin', () => {
  it('sends the providers of the configuration through Plimsoll, under the names that OpenCode gives', async () => {
    const referee = createReferee({ wire: 'openai-chat', window: 16_000, script: () => say('Done.') })
    const plimsoll = createPlimsoll({ store: 'memory:', window: 16_000, fetch: referee.fetch })
    const hooks = await plimsollPlugin(plimsoll)()
    const config: { provider: Record<string, { options?: Record<string, unknown> }> } = {
      provider: { mine: { options: { baseURL: 'http://referee.test' } }, bare: {} },
    }
    await hooks.config(config)
    expect(config.provider['mine']!.options!['baseURL']).toBe('http://referee.test')
    expect(config.provider['bare']!.options!['fetch']).toBe(plimsoll.fetch)
    const output = { headers: {} as Record<string, string> }
    await hooks['chat.headers']({ sessionID: 'ses_1', agent: 'build' }, output)
    const send = config.provider['mine']!.options!['fetch'] as typeof plimsoll.fetch
    const answer = await send('http://referee.test/v1/chat/completions', {
      method: 'POST',
      headers: { ...output.headers, 'content-type': 'application/json', authorization: 'Bearer k' },
      body: JSON.stringify({ model: 'gpt-4.1', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] }),
    })
    expect(answer.status).toBe(200)
    await expect.poll(() => plimsoll.ledger.sessions('local').map(({ session }) => session)).toEqual(['ses_1'])
    await plimsoll.close()
  })

  it('shortens results in the session where it is asked to', async () => {
    const plimsoll = createPlimsoll({ store: 'memory:', window: 16_000 })
    const hooks = await plimsollPlugin(plimsoll, { shortenHistory: true })()
    const result = { output: logOf(1).repeat(20) }
    await hooks['tool.execute.after']({ tool: 'bash', sessionID: 'ses_1', callID: 'c1' }, result)
    expect(result.output).toMatch(/art_[0-9a-z]{26}/)
    await plimsoll.close()
  })
})
