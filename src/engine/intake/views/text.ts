import { viewLines, type LineProfile } from '../logs/line-view.ts'
import { counted, grouped } from '../text.ts'
import { profileOf } from './profiles.ts'
import type { BodyView, ViewInput } from './view.ts'

/** Text by lines: what the lines add up to, those that matter, then head and tail. */
export function textView(input: ViewInput, profile: LineProfile = profileOf(input.kind, input.format)): BodyView {
  const lines = viewLines(input, profile)
  const preamble = input.clean(input.text.slice(0, input.from).trimEnd())
  return {
    syntax: 'text',
    mode: profile.facts === undefined ? 'head-tail' : 'template',
    render(chars) {
      const before = headOf(preamble, chars)
      const summary =
        profile.facts === undefined || chars < 300
          ? ''
          : factsWithin(profile.facts().map(input.clean), Math.floor((chars - before.length) * 0.5))
      const view = lines.render(Math.max(0, chars - before.length - summary.length))
      const body = [before, summary, view.text].filter((part) => part !== '').join('\n')
      const ranked = lines.ranked.slice(0, 3).reduce((sum, count) => sum + count, 0)
      const important = profile.ranking === undefined || ranked === 0 ? '' : `, ${profile.ranking} first`
      const what = lines.total === 1 ? 'both ends of the line' : `${counted(view.lines, 'line')}${important}`
      return {
        body,
        holds: summary === '' ? what : `a summary and ${what}`,
        leftOut:
          lines.total === 1
            ? `the middle of 1 line of ${counted(input.text.length - input.from, 'char')}`
            : `${grouped(lines.total - view.lines)} of ${counted(lines.total, 'line')}`,
        lines: view.lines,
      }
    },
  }
}

/** Status lines stay whole as long as they are short against the room. */
function headOf(preamble: string, chars: number): string {
  if (preamble === '' || chars <= 0) return ''
  if (preamble.length <= chars * 0.3) return preamble
  const lines = preamble.split('\n').filter((line) => line.length <= chars * 0.2)
  return withinRoom(lines, Math.floor(chars * 0.3))
}

/** Whole lines only, those that fit. */
export function withinRoom(lines: readonly string[], room: number): string {
  const out: string[] = []
  let used = 0
  for (const line of lines) {
    if (used + line.length + 1 > room) continue
    out.push(line)
    used += line.length + 1
  }
  return out.join('\n')
}

/** Facts are headings with indented lines below: one whose lines found no room goes too. */
function factsWithin(facts: readonly string[], room: number): string {
  const kept = withinRoom(facts, room).split('\n')
  return kept.filter((line, i) => !line.endsWith(':') || kept[i + 1]?.startsWith('  ') === true).join('\n')
}
