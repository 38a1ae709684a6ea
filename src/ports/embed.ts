/** Vectors of some texts, in their order: alike where the texts mean the same. Rejects where there is no answer. */
export type Embed = (texts: readonly string[]) => Promise<readonly (readonly number[])[]>
