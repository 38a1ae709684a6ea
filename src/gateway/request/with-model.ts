import { indexJson, member } from '../../formats/json/json-index.ts'

/** The same body asking for another model; every other byte stays. A body that names none stays as it is. */
export function withModel(text: string, model: string): string {
  const node = member(indexJson(text), 'model')
  return node === undefined ? text : text.slice(0, node.start) + JSON.stringify(model) + text.slice(node.end)
}
