/** Reads declarations out of the sources, with their comments. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync, type Class, type ParseResult } from 'oxc-parser'

type Statement = ParseResult['program']['body'][number]
type Declared = Extract<Statement, { type: 'ExportNamedDeclaration' }>['declaration']

export interface Declaration {
  readonly name: string
  readonly kind: 'function' | 'class' | 'const' | 'type'
  /** The sentence or two above it. */
  readonly about: string
  /** As it is written, without what a caller cannot see. */
  readonly text: string
}

interface Module {
  readonly source: string
  readonly body: readonly Statement[]
  readonly comments: ParseResult['comments']
}

const modules = new Map<string, Module>()

function moduleAt(file: string): Module {
  const known = modules.get(file)
  if (known !== undefined) return known
  const source = readFileSync(file, 'utf8')
  const { program, comments } = parseSync(file, source)
  const module = { source, body: program.body, comments }
  modules.set(file, module)
  return module
}

/** Everything that a file exports, in its order. */
export function exportsOf(file: string): readonly Declaration[] {
  const module = moduleAt(file)
  const at = (specifier: string): string => join(dirname(file), specifier)
  return module.body.flatMap((statement): readonly Declaration[] => {
    if (statement.type === 'ExportAllDeclaration') return exportsOf(at(statement.source.value))
    if (statement.type !== 'ExportNamedDeclaration') return []
    if (statement.declaration !== null) return declarationsIn(module, statement, statement.declaration)
    return statement.specifiers.flatMap(({ local, exported }) => {
      const from =
        statement.source === null
          ? importedFrom(module, nameOf(local))
          : { ...sourceOf(statement), name: nameOf(local) }
      const found =
        from === undefined
          ? localIn(module, nameOf(local))
          : exportsOf(at(from.specifier)).filter(({ name }) => name === from.name)
      return found.map((declaration) => ({ ...declaration, name: nameOf(exported) }))
    })
  })
}

const sourceOf = (statement: Extract<Statement, { type: 'ExportNamedDeclaration' }>): { specifier: string } => ({
  specifier: statement.source!.value,
})

const nameOf = (name: { readonly type: string; readonly name?: string; readonly value?: string }): string =>
  name.name ?? name.value ?? ''

function importedFrom({ body }: Module, name: string): { specifier: string; name: string } | undefined {
  for (const statement of body) {
    if (statement.type !== 'ImportDeclaration') continue
    for (const specifier of statement.specifiers)
      if (specifier.type === 'ImportSpecifier' && specifier.local.name === name)
        return { specifier: statement.source.value, name: nameOf(specifier.imported) }
  }
  return undefined
}

function localIn(module: Module, name: string): readonly Declaration[] {
  return module.body.flatMap((statement) =>
    'id' in statement || statement.type === 'VariableDeclaration'
      ? declarationsIn(module, statement, statement as Declared).filter((declaration) => declaration.name === name)
      : [],
  )
}

function declarationsIn(module: Module, statement: Statement, declared: Declared): readonly Declaration[] {
  if (declared === null) return []
  const about = commentBefore(module, statement.start)
  const slice = (from: number, to: number): string => module.source.slice(from, to).trim()
  switch (declared.type) {
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
      return [
        { name: declared.id.name, kind: 'type', about, text: withoutInternals(slice(declared.start, declared.end)) },
      ]
    case 'FunctionDeclaration':
      return [
        { name: declared.id?.name ?? '', kind: 'function', about, text: slice(declared.start, declared.body!.start) },
      ]
    case 'ClassDeclaration':
      return [{ name: declared.id?.name ?? '', kind: 'class', about, text: classText(module, declared) }]
    case 'VariableDeclaration':
      return declared.declarations.flatMap((variable) => {
        if (variable.id.type !== 'Identifier') return []
        const { init, id } = variable
        // An arrow function is a function; of other values the type says enough, or the name.
        const isFunction = init?.type === 'ArrowFunctionExpression'
        const text = isFunction
          ? slice(declared.start, init.body.start).replace(/\s*=>$/, '')
          : `const ${slice(id.start, id.end)}`
        return [{ name: id.name, kind: isFunction ? 'function' : 'const', about, text }]
      })
    default:
      return []
  }
}

/** What can be seen from outside: fields and signatures. */
function classText({ source }: Module, declared: Class): string {
  const head = source.slice(declared.start, declared.body.start).trim()
  const members = declared.body.body.flatMap((member) => {
    if (member.type === 'PropertyDefinition' && member.key.type !== 'PrivateIdentifier')
      return [source.slice(member.start, member.end)]
    if (member.type === 'MethodDefinition' && member.key.type !== 'PrivateIdentifier' && member.value.body !== null)
      return [source.slice(member.start, member.value.body.start).trim()]
    return []
  })
  return [`${head} {`, ...members.map((member) => `  ${member}`), '}'].join('\n')
}

function commentBefore({ source, comments }: Module, start: number): string {
  const comment = comments.findLast(({ end, type, value }) => type === 'Block' && value.startsWith('*') && end <= start)
  if (comment === undefined || source.slice(comment.end, start).trim() !== '') return ''
  return comment.value
    .replaceAll(/^\s*\*+ ?/gm, '')
    .trim()
    .replaceAll(/\n(?!\n)/g, ' ')
}

/** The comments above the keys of an object that a file declares. */
export function commentsIn(file: string, name: string): Readonly<Record<string, string>> {
  const module = moduleAt(file)
  const declared = module.body.flatMap((statement) =>
    statement.type === 'ExportNamedDeclaration' && statement.declaration?.type === 'VariableDeclaration'
      ? statement.declaration.declarations
      : [],
  )
  const init = declared.find(({ id }) => id.type === 'Identifier' && id.name === name)?.init
  if (init?.type !== 'ObjectExpression') return {}
  return Object.fromEntries(
    init.properties.flatMap((property) =>
      property.type === 'Property' && property.key.type === 'Identifier'
        ? [[property.key.name, commentBefore(module, property.start)]]
        : [],
    ),
  )
}

const withoutInternals = (text: string): string =>
  text.replaceAll(/^ *\/\*\*(?:(?!\*\/)[^])*@internal(?:(?!\*\/)[^])*\*\/\n.*\n/gm, '')
