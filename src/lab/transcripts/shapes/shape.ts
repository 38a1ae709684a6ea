import type { Role } from '../../../core/item.ts'
import type { Part, RecordedTool, Wire } from '../recording.ts'

/** An array element before its JSON text is written. */
export interface Rendered {
  readonly role: Role
  readonly parts: readonly Part[]
  value(): unknown
}

export interface Head {
  readonly system: string | undefined
  readonly tools: readonly RecordedTool[]
  readonly model: string
}

/** How one wire writes what a recording says. The result obeys the wire's rules about roles and pairs. */
export interface WireShape {
  readonly wire: Wire
  /** User text and tool results that stand between two answers. */
  fromUser(parts: readonly Part[]): readonly Rendered[]
  fromModel(parts: readonly Part[]): readonly Rendered[]
  /** The body around the history: its JSON is `before + messages.join(',') + after`. */
  envelope(head: Head): { readonly before: string; readonly after: string }
}

/** Parts of one array element share their raw value; those without one are grouped together. */
export function groupByRaw(parts: readonly Part[]): readonly (readonly Part[])[] {
  const groups: Part[][] = []
  for (const part of parts) {
    const last = groups.at(-1)
    if (last !== undefined && last[0]?.raw === part.raw) last.push(part)
    else groups.push([part])
  }
  return groups
}

export const toolList = (tools: readonly RecordedTool[]): string => `[${tools.map((tool) => tool.json).join(',')}]`
