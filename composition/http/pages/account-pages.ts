import type { Answer } from '../answer/write-answer.ts'
import { inlineSource, pageFiles, pageStyle, renderPage, staticAnswer } from './page-parts.ts'

const scriptPrefix = '/account/'

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src ${inlineSource(pageStyle)}`,
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  // The forms have no action: their scripts send them.
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const pageNames = ['confirm-email', 'reset-password', 'sign-in', 'accept-invitation'] as const

/** The scripts of the account pages, by file name. */
export const accountScripts = pageFiles('scripts/')

/** Returns the answer of a page. It must not be cached, since the address may contain a code. */
const pageAnswer = (name: string): Answer => ({
  status: 200,
  headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': policy },
  body: renderPage(name),
})

/**
 * Returns the pages that mails link to, the sign-in page, and their scripts, by path. They are ordinary clients of the API:
 * opening a page changes nothing.
 */
export const makeAccountPages = (): ((path: string) => Answer | undefined) => {
  const answers = new Map<string, Answer>()
  for (const name of pageNames) answers.set(`/${name}`, pageAnswer(name))
  for (const [name, source] of Object.entries(accountScripts)) {
    answers.set(`${scriptPrefix}${name}`, staticAnswer('text/javascript; charset=utf-8', source))
  }
  return (path) => answers.get(path)
}
