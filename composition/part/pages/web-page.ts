import { hash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import mustache from 'mustache'
import { definedFields } from '../../../core/kernel/json.ts'
import { scopeCategories } from '../../../core/kernel/principal.ts'
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
 * of the service; `{{#list}}` repeats for each element; `{{up}}` is the way to the root of the host. Throws if there is
 * no such template.
 */
export const renderTemplate = (template: string, values: Readonly<Record<string, unknown>> = {}): string => {
  const shared = {
    up: '/',
    icon,
    style: pageStyle,
    version: releaseVersion,
    scopeCategories: scopeCategories.join(' '),
  }
  return mustache.render(template, { ...shared, ...values }, partial, { escape: escapeHtml })
}

/** Returns a page as HTML from its template, by name. */
export const renderPage = (name: string, values?: Readonly<Record<string, unknown>>): string =>
  renderTemplate(partial(name), values)

/**
 * A page outside of the API, at `/<name>`. It is an ordinary client of the API: opening it changes nothing. It is
 * served with a policy that allows scripts of this service only, and no inline ones.
 */
export interface WebPage {
  /** Of a part from outside: its id, or a name that begins with its id and a hyphen. */
  readonly name: string
  readonly title: string
  /**
   * A further path at which the page is served, with `{id}` for a number: the address that another service knows, such
   * as `/user/oauth2/{id}/callback`.
   */
  readonly at?: string
  /**
   * The file of the HTML, a mustache template. It begins with `{{> page-start}}` and ends with `{{> page-end}}`;
   * between them it may use `{{> notices}}` and `{{> sign-in-forms}}`.
   */
  readonly template: URL
  /** The file of its script, a module, which may import `./kit.js` and `./sign-in-form.js` of the service. */
  readonly script: URL
}

/** Returns a page of this repository, whose files have its name. */
export const ownPage = (name: string, title: string, at?: string): WebPage => ({
  name,
  title,
  ...definedFields({ at }),
  template: new URL(`./files/templates/${name}.html`, import.meta.url),
  script: new URL(`./files/scripts/${name}.js`, import.meta.url),
})
