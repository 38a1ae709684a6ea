import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { alignChain, chainOf, firstSendKey, type Link } from '../../src/core/chain.ts'
import { canonicalJson, identityOf, PLAIN_CLIENT } from '../../src/core/identity.ts'
import { arbitraryBodyText, WIRES, type WireName } from '../support/generators/index.ts'
import { sha256 } from '../support/hash.ts'
import { item, messyItems } from '../support/items.ts'
import { property } from '../support/property.ts'
import { CODECS } from '../support/wires.ts'

const linksOf = (identities: readonly string[]): Link[] =>
  identities.map((identity, index) => ({ index, identity, chain: `${index}:${identity}` }))

const chains = (wire: WireName, body: string): string[] =>
  chainOf(CODECS[wire].decode(body).items, sha256, PLAIN_CLIENT).map((link) => link.chain)

/** Length of the longest common subsequence, the plain quadratic way. */
function commonLength(a: readonly string[], b: readonly string[]): number {
  let row = [0, ...b.map(() => 0)]
  for (const x of a) {
    const next = [0]
    for (const [j, y] of b.entries()) next.push(x === y ? row[j]! + 1 : Math.max(row[j + 1]!, next[j]!))
    row = next
  }
  return row[b.length]!
}

describe('chainOf', () => {
  it('is the same for a prefix, however the history goes on', () => {
    property(fc.tuple(messyItems, fc.nat()), ([items, at]) => {
      const cut = at % (items.length + 1)
      const whole = chainOf(items, sha256, PLAIN_CLIENT)
      const part = chainOf(items.slice(0, cut), sha256, PLAIN_CLIENT)
      expect(whole.slice(0, part.length)).toEqual(part)
    })
  })

  it('changes from the changed item on, and nowhere before', () => {
    property(fc.tuple(messyItems, fc.nat()), ([items, at]) => {
      const before = chainOf(items, sha256, PLAIN_CLIENT)
      const link = before[at % Math.max(1, before.length)]
      if (link === undefined) return
      const changed = items.map((one, i) => (i === link.index ? { ...one, text: `${one.text} and more` } : one))
      const after = chainOf(changed, sha256, PLAIN_CLIENT)
      for (const [n, { index, chain }] of before.entries()) {
        expect(after[n]!.index).toBe(index)
        expect(after[n]!.chain === chain).toBe(index < link.index)
      }
    })
  })

  it('does not see reasoning come and go', () => {
    property(messyItems, (items) => {
      const bare = items.filter((one) => one.kind !== 'reasoning')
      expect(chainOf(items, sha256, PLAIN_CLIENT).map((link) => link.chain)).toEqual(
        chainOf(bare, sha256, PLAIN_CLIENT).map((link) => link.chain),
      )
    })
  })

  it('is the same for a body in any white space, on every wire', () => {
    for (const wire of WIRES) {
      property(arbitraryBodyText(wire), (text) => {
        expect(chains(wire, JSON.stringify(JSON.parse(text), undefined, 3))).toEqual(chains(wire, text))
      })
    }
  })
})

describe('alignChain', () => {
  const names = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), { maxLength: 16 })

  it('places items in order, on equal identities only', () => {
    property(fc.tuple(names, names), ([covered, now]) => {
      const { placed, matched } = alignChain(covered, linksOf(now))
      const found = placed.filter((at) => at !== undefined)
      expect(found).toEqual([...new Set(found)].sort((a, b) => a - b))
      for (const [i, at] of placed.entries()) if (at !== undefined) expect(now[at]).toBe(covered[i])
      expect(matched).toBe(found.length)
      expect(matched).toBeLessThanOrEqual(commonLength(covered, now))
    })
  })

  it('finds as many as there are when every identity is unique', () => {
    const unique = fc.uniqueArray(fc.nat({ max: 40 }).map(String), { maxLength: 20 })
    property(fc.tuple(unique, unique), ([covered, now]) => {
      expect(alignChain(covered, linksOf(now)).matched).toBe(commonLength(covered, now))
    })
  })

  it('finds all that stayed when a client drops a few', () => {
    property(fc.tuple(names, fc.array(fc.boolean(), { minLength: 16, maxLength: 16 })), ([repeated, dropped]) => {
      const covered = repeated.map((name, i) => `${name}${i}`)
      const now = covered.filter((_, i) => dropped[i] !== true)
      expect(alignChain(covered, linksOf(now)).matched).toBe(now.length)
    })
  })

  it('is not dragged along by a repeated item that went away at the front', () => {
    const steps = Array.from({ length: 20 }, (_, i) => `step ${i}`)
    const { matched } = alignChain(['continue', ...steps], linksOf([...steps, 'continue']))
    expect(matched).toBe(20)
  })

  it('aligns 100,000 equal items without going quadratic', () => {
    const same = Array.from({ length: 100_000 }, () => 'ok')
    expect(alignChain(same, linksOf(same)).matched).toBe(100_000)
  })
})

describe('identityOf', () => {
  it('tells items of different kind, role, call, tool and text apart', () => {
    const base = item('i0', { kind: 'result', callId: 'a', toolName: 'bash', text: 'out' })
    const others = [
      { ...base, kind: 'user' as const },
      { ...base, role: 'user' as const },
      { ...base, callId: 'b' },
      { ...base, toolName: 'read' },
      { ...base, text: 'other' },
      { ...base, media: [{ type: 'image' as const, data: 'AAAA' }] },
    ]
    const ids = [base, ...others].map((one) => identityOf(one, sha256))
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('keys a first-send edit by call and content', () => {
    expect(firstSendKey('call_0', 'x')).not.toBe(firstSendKey('call_1', 'x'))
    expect(firstSendKey(undefined, 'x')).toBe(':x')
  })

  it('gives one canonical form for every way of writing the same JSON', () => {
    property(fc.tuple(fc.jsonValue(), fc.nat({ max: 4 })), ([value, indent]) => {
      expect(canonicalJson(JSON.stringify(value, undefined, indent))).toBe(canonicalJson(JSON.stringify(value)))
    })
  })

  it('falls back to the text for what is no JSON or nests too deep', () => {
    expect(canonicalJson(' ls -la ')).toBe('ls -la')
    const deep = '['.repeat(100_000) + ']'.repeat(100_000)
    expect(canonicalJson(deep)).toBe(deep)
  })
})
