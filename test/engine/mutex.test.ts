import { describe, expect, it } from 'vitest'
import { mutex } from '../../src/util/mutex.ts'

describe('a mutex', () => {
  it('runs one task at a time, in the order they came', async () => {
    const inOrder = mutex()
    const seen: string[] = []
    const task = (name: string) => async (): Promise<string> => {
      seen.push(`${name} begins`)
      await Promise.resolve()
      seen.push(`${name} ends`)
      return name
    }
    const a = inOrder(task('a'))
    const others = Promise.all([inOrder(task('b')), inOrder(task('c'))])
    expect(await a).toBe('a')
    expect(await others).toEqual(['b', 'c'])
    await inOrder(task('d'))
    expect(seen).toEqual(['a', 'b', 'c', 'd'].flatMap((name) => [`${name} begins`, `${name} ends`]))
  })

  it('goes on after a task that failed, whether it was rejected or threw before it waited', async () => {
    const inOrder = mutex()
    const failures = [
      inOrder(() => Promise.reject(new Error('rejected'))),
      inOrder(() => {
        throw new Error('thrown later')
      }),
    ]
    expect(await Promise.allSettled(failures)).toMatchObject([
      { reason: { message: 'rejected' } },
      { reason: { message: 'thrown later' } },
    ])
    await expect(
      inOrder(() => {
        throw new Error('thrown at once')
      }),
    ).rejects.toThrow('thrown at once')
    expect(await inOrder(async () => 'next')).toBe('next')
  })

  it('runs what a task asks for while it begins behind that task', async () => {
    const inOrder = mutex()
    const seen: string[] = []
    let inner: Promise<void> | undefined
    await inOrder(async () => {
      inner = inOrder(async () => void seen.push('inner'))
      await Promise.resolve()
      await Promise.resolve()
      await Promise.resolve()
      seen.push('outer')
    })
    await inner
    expect(seen).toEqual(['outer', 'inner'])
  })
})
