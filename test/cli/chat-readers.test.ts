import { describe, expect, it } from 'vitest'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { readerTools } from '../../src/cli/chat/tools.ts'

describe('the readers of a chat', () => {
  it('open what their own conversation put away, and nothing of another', async () => {
    const secret = Buffer.alloc(32, 3)
    const stores = {
      url: 'memory:',
      artifactsUrl: 'memory:',
      sessions: memoryStore(),
      artifacts: memoryArtifacts({ secret }),
      secret,
    }
    const put = (text: string, session: string) => stores.artifacts.put('local', Buffer.from(text), { session })
    const own = await put('the words of this chat', 'mine')
    const other = await put('the words of another chat', 'yours')
    let session = 'mine'
    const tools = readerTools(stores, 'local', () => session)
    const asked = (input: Record<string, unknown>, name = 'recall') => tools.call(name, input)
    expect(await asked({ handle: own.handle })).toContain('the words of this chat')
    expect(await asked({ handle: own.handle }, 'artifact_read')).toContain('the words of this chat')
    for (const name of ['recall', 'artifact_read', 'artifact_grep', 'artifact_query', 'artifact_run']) {
      const input = { handle: other.handle, pattern: 'words', sql: 'SELECT * FROM data', code: 'artifact.text' }
      expect(await asked(input, name)).not.toContain('another chat')
    }
    expect(await asked({ handle: own.handle, also: [other.handle], code: 'artifacts[1].text' }, 'artifact_run'))
      .not //
      .toContain('another chat')
    session = 'yours'
    expect(await asked({ handle: other.handle })).toContain('the words of another chat')
    expect(await asked({ handle: own.handle })).not.toContain('this chat')
    await tools.close()
  })
})
