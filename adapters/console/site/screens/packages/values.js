import { html } from '../../kit/html.js'
import { texts } from '../../texts.js'

const text = texts.install

/**
 * A value of a chart that fits into one field.
 *
 * @typedef {{ path: string, title: string, hint: string, type: 'text' | 'number' | 'check' | 'select', options: string[], value: unknown }} Scalar
 */

/** At most so many fields are drawn; the rest is for the editor. */
const mostFields = 40

/** @param {any} schema @param {unknown} value */
const typeOf = (schema, value) => {
  if (Array.isArray(schema?.enum)) return 'select'
  const type = typeof schema?.type === 'string' ? schema.type : typeof value
  if (type === 'boolean') return 'check'
  if (type === 'integer' || type === 'number') return 'number'
  return type === 'string' ? 'text' : undefined
}

/**
 * Returns the fields of a form from the schema of the values, or from the default values where there is none.
 *
 * @param {any} schema
 * @param {any} values
 * @param {string[]} [above]
 * @returns {Scalar[]}
 */
export const scalarsOf = (schema, values, above = []) => {
  const own = schema?.properties ?? {}
  const names = new Set([
    ...Object.keys(own),
    ...(values !== null && typeof values === 'object' ? Object.keys(values) : []),
  ])
  return [...names]
    .flatMap((name) => {
      const [part, value] = [own[name], values?.[name]]
      // A dot in a name is no path of helm.
      const path = [...above, name.replaceAll('.', '\\.')]
      if (
        part?.type === 'object' ||
        (part === undefined && value !== null && typeof value === 'object' && !Array.isArray(value))
      )
        return above.length < 2 ? scalarsOf(part, value, path) : []
      const type = typeOf(part, value)
      if (type === undefined) return []
      /** @type {Scalar} */
      const scalar = {
        path: path.join('.'),
        title: typeof part?.title === 'string' ? part.title : path.join('.'),
        hint: typeof part?.description === 'string' ? part.description : '',
        type,
        options: Array.isArray(part?.enum) ? part.enum.map(String) : [],
        value: value ?? part?.default ?? '',
      }
      return [scalar]
    })
    .slice(0, mostFields)
}

/**
 * Returns what a field of the form shows and how it is changed; only what differs from the defaults is sent.
 *
 * @param {import('../../kit/form.js').Form<any>} form
 */
export const changedValues = (form) => {
  /** @type {Record<string, unknown>} */
  const changed = form.values.changed
  return {
    of: (/** @type {Scalar} */ { path, value }) => (path in changed ? changed[path] : value),
    set: (/** @type {Scalar} */ { path, value }, /** @type {unknown} */ next) => {
      const rest = Object.entries(changed).filter(([each]) => each !== path)
      form.set({ changed: Object.fromEntries(next === value ? rest : [...rest, [path, next]]) })
    },
  }
}

/** @param {{ scalar: Scalar, changed: ReturnType<typeof changedValues> }} props */
const Value = ({ scalar, changed }) => {
  const { path, title, hint, type, options } = scalar
  const id = `value-${path}`
  const value = changed.of(scalar)
  const take = (/** @type {any} */ event) => {
    const { checked, value: typed } = event.target
    changed.set(scalar, type === 'check' ? checked : type === 'number' && typed !== '' ? Number(typed) : typed)
  }
  const control =
    type === 'check'
      ? html`<input id=${id} type="checkbox" checked=${value === true} onChange=${take} />`
      : type === 'select'
        ? html`<select id=${id} onChange=${take}>
            ${options.map((each) => html`<option key=${each} value=${each} selected=${each === value}>${each}</option>`)}
          </select>`
        : html`<input
            id=${id}
            type=${type}
            autocomplete="off"
            spellcheck=${false}
            value=${String(value ?? '')}
            onInput=${take}
          />`
  const label = html`<label for=${id}>${title}</label>${hint && html`<p class="hint">${hint}</p>`}`
  return type === 'check'
    ? html`<div class="field check">
        ${control}
        <div>${label}</div>
      </div>`
    : html`<div class="field">${label}${control}</div>`
}

/** @param {{ form: import('../../kit/form.js').Form<any>, scalars: Scalar[], changed: ReturnType<typeof changedValues> }} props */
export const Values = ({ scalars, changed }) =>
  scalars.length === 0
    ? null
    : html`
        <fieldset>
          <legend>${text.values}</legend>
          <div class="pair">
            ${scalars.map((scalar) => html`<${Value} key=${scalar.path} scalar=${scalar} changed=${changed} />`)}
          </div>
        </fieldset>
      `
