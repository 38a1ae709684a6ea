import type { Detector } from './sample.ts'

export const detectMarkup: Detector = ({ text, from, lines }) => {
  const head = text.slice(from, from + 20_000).trimStart()
  if (!head.startsWith('<')) return undefined
  if (/^(?:<!--[\s\S]{0,2000}?-->\s*)?(?:<!doctype html|<html[\s>])/i.test(head)) return { kind: 'html', confidence: 1 }
  if (/^<\?xml\b/.test(head)) {
    if (/<html[\s>]/i.test(head.slice(0, 2_000))) return { kind: 'html', format: 'xhtml', confidence: 1 }
    return { kind: 'xml', ...xmlFormat(head), confidence: 1 }
  }
  const html = (
    head.match(/<\/?(?:div|span|p|a|ul|li|table|tr|td|h[1-6]|script|style|section|article|img|br)\b/gi) ?? []
  ).length
  const tags = (head.match(/<\/?[A-Za-z][\w:.-]*[\s/>]/g) ?? []).length
  if (html > 10 && html > tags * 0.5) return { kind: 'html', format: 'fragment', confidence: Math.min(1, html / tags) }
  const root = /^<([A-Za-z_][\w:.-]*)[\s/>]/.exec(head)
  if (root === null || tags < 3) return undefined
  const last = lines[lines.length - 1] ?? ''
  const closed = last.includes(`</${root[1]}`) || text.slice(-200).includes(`</${root[1]}`)
  return closed ? { kind: 'xml', ...xmlFormat(head), confidence: 0.9 } : undefined
}

function xmlFormat(head: string): { format?: string } {
  if (/<nmaprun\b/.test(head)) return { format: 'nmap' }
  if (/<testsuites?\b/.test(head)) return { format: 'junit' }
  if (/<OWASPZAPReport\b/.test(head)) return { format: 'zap' }
  if (/<(?:rss|feed)\b/.test(head)) return { format: 'feed' }
  return {}
}
