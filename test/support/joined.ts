/**
 * Where the client's roles alternate, what we insert is written into the message of its role beside it. The documents count what was said,
 * so these give each text of such a message as a message of its own; a message with anything but texts stays as it is.
 */

interface Content {
  readonly role: string
  readonly parts: readonly object[]
}

export const contentsApart = <C extends Content>(contents: readonly C[]): C[] =>
  contents.flatMap((content) =>
    content.parts.every((part) => 'text' in part)
      ? content.parts.map((part) => ({ ...content, parts: [part] }))
      : content,
  )

interface Message {
  readonly content: string | null | readonly { readonly text: string }[]
}

export const messagesApart = <M extends Message>(
  messages: readonly M[],
): (Omit<M, 'content'> & { readonly content: string | null })[] =>
  messages.flatMap((message) => {
    const { content } = message
    if (content === null || typeof content === 'string') return [{ ...message, content }]
    return content.map(({ text }) => ({ ...message, content: text }))
  })
