/**
 * A page outside of the API, at `/<name>`. It is an ordinary client of the API: opening it changes nothing. It is
 * served with a policy that allows scripts of this service only, and no inline ones.
 */
export interface WebPage {
  /** Of a part from outside: its id, or a name that begins with its id and a hyphen. */
  readonly name: string
  readonly title: string
  /**
   * The file of the HTML, a mustache template. It begins with `{{> page-start}}` and ends with `{{> page-end}}`;
   * between them it may use `{{> notices}}` and `{{> sign-in-forms}}`.
   */
  readonly template: URL
  /** The file of its script, a module, which may import `./kit.js` and `./sign-in-form.js` of the service. */
  readonly script: URL
}

/** Returns a page of this repository, whose files have its name. */
export const ownPage = (name: string, title: string): WebPage => ({
  name,
  title,
  template: new URL(`./files/templates/${name}.html`, import.meta.url),
  script: new URL(`./files/scripts/${name}.js`, import.meta.url),
})
