/** The pages that the library itself answers with: errors, and the question of a sign-out. */
export interface ProtocolPages {
  /** Returns a page in the style of the others. `html`: the content, already escaped. */
  page(title: string, html: string): string
  /** The policy of such a page. It must have a directive for scripts. */
  readonly policy: string
}

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
