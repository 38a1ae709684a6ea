import { describe, expect, it } from 'vitest'
import type { Session } from '../../src/engine/session/session.ts'
import { openSessions } from '../../src/compose/open/sessions.ts'

const session = (id: string): Session => ({ id }) as Session

describe('open sessions', () => {
  it('lets the one go that was not used for longest, by number', () => {
    const open = openSessions<Session>({ most: 2 })
    for (const id of ['a', 'b', 'a', 'c']) open.keep(id, open.get(id) ?? session(id), 1)
    expect(['a', 'b', 'c'].filter((id) => open.get(id) !== undefined)).toEqual(['a', 'c'])
  })

  it('lets as many go as the sizes ask for, and never the one in use', () => {
    const open = openSessions<Session>({ bytes: 100, least: 0 })
    for (const id of ['a', 'b', 'c']) open.keep(id, session(id), 30)
    open.keep('c', open.get('c')!, 80)
    expect(['a', 'b', 'c'].filter((id) => open.get(id) !== undefined)).toEqual(['c'])
    open.keep('d', session('d'), 500)
    expect(['c', 'd'].filter((id) => open.get(id) !== undefined)).toEqual(['d'])
  })

  it('lets a few large ones have four times the room', () => {
    const open = openSessions<Session>({ bytes: 100, least: 3 })
    for (const id of ['a', 'b', 'c']) open.keep(id, session(id), 120)
    expect(['a', 'b', 'c'].filter((id) => open.get(id) !== undefined)).toEqual(['a', 'b', 'c'])
    open.keep('d', session('d'), 10)
    expect(['a', 'b', 'c', 'd'].filter((id) => open.get(id) !== undefined)).toEqual(['b', 'c', 'd'])
  })

  it('keeps the size that it knows where none is said', () => {
    const open = openSessions<Session>({ bytes: 100, least: 0 })
    open.keep('a', session('a'), 90)
    open.keep('a', open.get('a')!, 0)
    open.keep('b', session('b'), 20)
    expect(open.get('a')).toBeUndefined()
  })
})
