import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import mustache from 'mustache'
import { releaseVersion } from '../../../core/platform/version.ts'

/** `npm run build` copies the folder beside the compiled code. */
const folder = new URL('./files/', import.meta.url)

/** Returns the text of a file of the pages, by its path below `files`. */
export const pageFile = (path: string): string => readFileSync(new URL(path, folder), 'utf8')

/** Returns the files of a folder below `files`, by name. @internal */
export const pageFiles = (path: string): Readonly<Record<string, string>> =>
  Object.fromEntries(readdirSync(new URL(path, folder)).map((name) => [name, pageFile(`${path}${name}`)]))

/** The style that all pages share. It is inline; policies allow it by `inlineSource`. */
export const pageStyle = pageFile('style.css')

/** The icon of the browser tab. */
const icon = `data:image/svg+xml,${encodeURIComponent(pageFile('icon.svg').trim())}`

const templates = new Map(Object.entries(pageFiles('templates/')))

const escapeHtml = (value: unknown): string => String(value).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)

/** Returns the `sha256-...` source by which a content security policy allows one inline style or script. */
export const inlineSource = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`

const partial = (name: string): string => {
  const found = templates.get(`${name}.html`)
  if (found === undefined) throw new Error(`There is no template ${name}.`)
  return found
}

/**
 * Returns a template as HTML. `{{name}}` inserts a value as text, also in attributes; `{{> name}}` inserts a template
 * of the service; `{{#list}}` repeats for each element. Throws if there is no such template.
 */
export const renderTemplate = (template: string, values: Readonly<Record<string, unknown>> = {}): string => {
  const shared = { icon, style: pageStyle, version: releaseVersion }
  return mustache.render(template, { ...shared, ...values }, partial, { escape: escapeHtml })
}

/** Returns a page as HTML from its template, by name. */
export const renderPage = (name: string, values?: Readonly<Record<string, unknown>>): string =>
  renderTemplate(partial(name), values)
