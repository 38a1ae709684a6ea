import { describe, expect, it } from 'vitest'
import { readerProvenance } from '../../src/engine/readers/reader.ts'
import { secret, setup } from './setup.ts'

describe('reader provenance', () => {
  it('recognises what a reader answered, in another process too', async () => {
    const { put, readers } = setup()
    const handle = await put('some\nlines\n')
    const answers = [await readers.read({ handle }), await readers.grep({ handle, pattern: 'lines' })]
    const elsewhere = readerProvenance(Uint8Array.from(secret))
    for (const { text, handles } of answers) {
      expect(handles).toEqual([handle])
      for (const same of [text, `${text}\n`, text.trimEnd()]) expect(elsewhere.handlesOf('a', same)).toEqual([handle])
    }
  })

  it('recognises nothing that was changed, forged or of another tenant', async () => {
    const { put, readers, provenance } = setup()
    const handle = await put('text\n')
    const { text } = await readers.read({ handle })
    const forged = `anything\n[from ${handle} read ${'0'.repeat(20)}]`
    for (const other of [
      `x${text}`,
      text.replace('text', 'test'),
      `${text} and more`,
      forged,
      '',
      'plain',
      text.slice(0, -1),
    ]) {
      expect(provenance.handlesOf('a', other)).toBeUndefined()
    }
    expect(provenance.handlesOf('b', text)).toBeUndefined()
    expect(readerProvenance(Buffer.alloc(32)).handlesOf('a', text)).toBeUndefined()
  })

  it('says in advance how many bytes it takes', () => {
    const provenance = readerProvenance(secret)
    for (const count of [1, 2, 3]) {
      const handles = Array.from({ length: count }, (_, i) => `art_${String(i).repeat(26)}`)
      expect(provenance.seal('a', 'body', handles).length - 4).toBe(provenance.sealBytes(count))
    }
  })
})
