import { describe, expect, it } from 'vitest'
import { callReader, READER_TOOLS } from '../../src/engine/readers/tools.ts'
import { setup } from './setup.ts'

describe('readers as tools', () => {
  it('answer calls by name', async () => {
    const { put, readers } = setup()
    const handle = await put('one\ntwo\n')
    expect((await callReader(readers, 'artifact_read', { handle, start: 2, count: null }))?.text).toContain('\ntwo\n')
    expect((await callReader(readers, 'artifact_grep', { handle, pattern: 'o' }))?.text).toContain(' 2 matches')
    expect((await callReader(readers, 'artifact_extract', { handle, extract: 'x', mode: 'truncate' }))?.ok).toBe(true)
    expect(callReader(readers, 'bash', { handle })).toBeUndefined()
    expect(callReader(readers, 'constructor', { handle })).toBeUndefined()
  })

  it('tell the model what was wrong with its call', async () => {
    const { put, readers } = setup()
    const handle = await put('one\n')
    const mistakes: [string, unknown, RegExp][] = [
      ['artifact_read', null, /takes an object/],
      ['artifact_read', {}, /needs handle/],
      ['artifact_read', { handle, start: '1' }, /start of artifact_read must be of type integer/],
      ['artifact_read', { handle, unit: 'pages' }, /lines or bytes or items/],
      ['artifact_read', { handle, path: 1 }, /of type string/],
      ['artifact_grep', { handle, pattern: '(' }, /not a valid regular expression/],
      ['artifact_grep', { handle, regex: 'x' }, /does not know "regex"/],
      [
        'artifact_grep',
        JSON.parse('{"handle":"x","pattern":"y","__proto__":{"limit":1}}'),
        /does not know "__proto__"/,
      ],
      ['artifact_query', { handle, also: 'x' }, /of type array/],
      ['artifact_query', { handle, sql: 'SELECT 1' }, /No SQL engine/],
      ['artifact_read', { handle: 'art_nope' }, /no artifact "art_nope"/],
    ]
    for (const [name, input, reason] of mistakes) {
      expect(await callReader(readers, name, input), JSON.stringify(input)).toMatchObject({
        ok: false,
        text: expect.stringMatching(reason),
      })
    }
  })

  it('let trouble of the store through as an error', async () => {
    const { put, readers, store } = setup()
    const handle = await put('one\n')
    await store.close()
    await expect(callReader(readers, 'artifact_read', { handle })).rejects.toMatchObject({ code: 'closed' })
  })

  it('are declared with schemas that name every field once', () => {
    expect(READER_TOOLS.map(({ name }) => name)).toEqual([
      'recall',
      'artifact_grep',
      'artifact_read',
      'artifact_query',
      'artifact_run',
      'artifact_extract',
    ])
    for (const { inputSchema, description } of READER_TOOLS) {
      for (const key of inputSchema.required) expect(inputSchema.properties).toHaveProperty(key)
      expect(description.length).toBeLessThan(400)
    }
    // All of them together cost every request that carries them.
    expect(JSON.stringify(READER_TOOLS).length).toBeLessThan(5000)
  })
})
