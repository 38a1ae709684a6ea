import { Counter } from '../json/stats.ts'
import { counted, grouped } from '../text.ts'
import { profileOf } from './profiles.ts'
import { textView } from './text.ts'
import type { BodyView, ViewInput } from './view.ts'

const NAME = /<([A-Za-z_][\w:.-]{0,100})/y
const MAX_OUTLINE = 25

/** XML: which elements there are, nmap's and JUnit's own facts, then the text with one element per line. */
export function xmlView(input: ViewInput): BodyView {
  const { text, from, format } = input
  const elements = elementsOf(text, from)
  // A minified document is one line; a break between tags makes head and tail mean something.
  const longLines =
    text.length - from > 4_000 && (text.length - from) / Math.max(1, text.slice(from).split('\n', 2_000).length) > 800
  const broken = longLines ? text.slice(from).replaceAll('><', '>\n<') : text.slice(from)
  const facts = [
    ...(format === 'nmap' ? nmapFacts(text, from) : []),
    ...(format === 'junit' ? junitFacts(text, from) : []),
    `${counted(elements.total, 'element')}: ${elements.names
      .top(MAX_OUTLINE)
      .map(([name, count]) => `${name} ${grouped(count)}`)
      .join(', ')}`,
  ]
  const view = textView({ ...input, text: broken, from: 0 }, { ...profileOf('plain'), facts: () => facts })
  return { ...view, items: elements.total }
}

function elementsOf(text: string, from: number): { total: number; names: Counter } {
  const names = new Counter(500)
  let total = 0
  for (let at = text.indexOf('<', from); at >= 0; at = text.indexOf('<', at + 1)) {
    NAME.lastIndex = at
    const name = NAME.exec(text)
    if (name === null) continue
    total++
    names.add(name[1]!)
  }
  return { total, names }
}

const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(`\\b${name}="([^"]{0,200})"`).exec(tag)?.[1]

/** Opening tags of one name, each at most 2,000 characters. */
function* tags(text: string, from: number, name: string, limit: number): Generator<{ tag: string; at: number }> {
  let found = 0
  for (let at = text.indexOf(`<${name}`, from); at >= 0 && found < limit; at = text.indexOf(`<${name}`, at + 1)) {
    if (!/[\s/>]/.test(text[at + name.length + 1] ?? '')) continue
    const end = text.indexOf('>', at)
    if (end < 0) return
    found++
    yield { tag: text.slice(at, Math.min(end + 1, at + 2_000)), at }
  }
}

function nmapFacts(text: string, from: number): string[] {
  const out: string[] = []
  const command = attribute(text.slice(from, from + 4_000), 'args')
  if (command !== undefined) out.push(`nmap: ${command}`)
  const addresses = [...tags(text, from, 'address', 2_000)]
  const ports = [...tags(text, from, 'port', 5_000)]
  const states = new Counter()
  const services: string[] = []
  for (const { tag, at } of ports) {
    const block = text.slice(at, Math.min(text.length, at + 2_000))
    const state = attribute(/<state\b[^>]{0,500}>/.exec(block)?.[0] ?? '', 'state') ?? 'unknown'
    states.add(state)
    if (state !== 'open' || services.length >= 40) continue
    const service = /<service\b[^>]{0,1000}>/.exec(block)?.[0] ?? ''
    const host = addresses.findLast((address) => address.at < at)
    const name = [attribute(service, 'name'), attribute(service, 'product'), attribute(service, 'version')]
      .filter((part) => part !== undefined)
      .join(' ')
    services.push(
      `  ${attribute(host?.tag ?? '', 'addr') ?? '?'} ${attribute(tag, 'portid')}/${attribute(tag, 'protocol')} ${name}`,
    )
  }
  const hosts = new Set(addresses.map(({ tag }) => attribute(tag, 'addr')))
  out.push(
    `${counted(hosts.size, 'address')}, ports: ${
      states
        .top()
        .map(([state, count]) => `${state} ${count}`)
        .join(', ') || 'none'
    }`,
    ...services,
  )
  const vulnerabilities = new Set(text.slice(from, from + 20_000_000).match(/\bCVE-\d{4}-\d{4,7}\b/g) ?? [])
  if (vulnerabilities.size > 0)
    out.push(`${counted(vulnerabilities.size, 'CVE id')}: ${[...vulnerabilities].slice(0, 20).join(' ')}`)
  return out
}

function junitFacts(text: string, from: number): string[] {
  let tests = 0
  let failures = 0
  for (const { tag } of tags(text, from, 'testsuite', 5_000)) {
    tests += Number(attribute(tag, 'tests') ?? 0)
    failures += Number(attribute(tag, 'failures') ?? 0) + Number(attribute(tag, 'errors') ?? 0)
  }
  const failed: string[] = []
  for (const { at } of tags(text, from, 'failure', 20)) {
    const before = text.lastIndexOf('<testcase', at)
    const tag = text.slice(before, Math.min(at, before + 1_000))
    failed.push(
      `  ${attribute(tag, 'classname') ?? ''} ${attribute(tag, 'name') ?? ''}: ${attribute(text.slice(at, at + 1_000), 'message') ?? ''}`,
    )
  }
  return [`${counted(tests, 'test')}, ${counted(failures, 'failure')}`, ...failed]
}
