import { expect, it, vi } from 'vitest'
import { withoutExperimentalWarning } from '../../src/util/without-experimental-warning.ts'

it('keeps the warning about an experimental module off standard error, and no other warning', () => {
  const emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  try {
    const spied = process.emitWarning
    const loaded = withoutExperimentalWarning(() => {
      process.emitWarning('SQLite is an experimental feature', 'ExperimentalWarning')
      process.emitWarning('the disk is full', 'Warning')
      return 'module'
    })
    expect(loaded).toBe('module')
    expect(emit.mock.calls).toEqual([['the disk is full', 'Warning']])
    expect(() =>
      withoutExperimentalWarning(() => {
        throw new Error('there is no such module')
      }),
    ).toThrow('there is no such module')
    expect(process.emitWarning).toBe(spied)
  } finally {
    emit.mockRestore()
  }
})
