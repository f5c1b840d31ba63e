import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { texts } from '../texts.js'
import { guardLeaving } from './address.js'
import { asApiError, newKey } from './client.js'
import { html } from './html.js'
import { Problem } from './resource.js'

/**
 * @template {object} V
 * @typedef {object} Form
 * @property {V} values
 * @property {(changes: Partial<V>) => void} set
 * @property {(event: Event) => Promise<void>} onSubmit
 * @property {boolean} isBusy
 * @property {boolean} isDirty
 * @property {import('./client.js').ApiError | undefined} error
 * @property {Record<string, string>} fieldErrors
 * @property {{ values: Partial<V>, takeTheirs: () => void, keepMine: () => void } | undefined} conflict
 */

/**
 * Returns the messages of a refusal by the field that they are about. They begin with the name of the field; a message
 * about no field of the form is shown above it.
 *
 * @param {import('./client.js').ApiError} error
 * @param {readonly string[]} names
 * @param {Record<string, string>} codes the field that a code of the API is about
 */
const byField = (error, names, codes) => {
  /** @type {Record<string, string>} */
  const found = {}
  for (const text of error.errors.length > 0 ? error.errors : [error.message]) {
    const name = names.find((each) => new RegExp(`^(?:body\\.)?${each}\\b`).test(text))
    if (name !== undefined) found[name] ??= text
  }
  const named = codes[error.code]
  if (named !== undefined && Object.keys(found).length === 0) found[named] = error.message
  return found
}

/**
 * A form that sends a change. Its values stay when the change is refused, when the session ends, and when no answer
 * comes; sending them again uses the same idempotency key, so the change happens at most once.
 *
 * @template {object} V
 * @param {{
 *   initial: V,
 *   submit: (values: V, idempotencyKey: string) => Promise<unknown>,
 *   codes?: Record<string, string>,
 *   latest?: () => Promise<V>,
 * }} options `latest` reads what is there now, after the API said that it was changed by another request
 * @returns {Form<V>}
 */
export const useForm = ({ initial, submit, codes = {}, latest }) => {
  const [values, setValues] = useState(initial)
  const [isBusy, setBusy] = useState(false)
  const [isDirty, setDirty] = useState(false)
  const [error, setError] = useState(/** @type {import('./client.js').ApiError | undefined} */ (undefined))
  const [theirs, setTheirs] = useState(/** @type {V | undefined} */ (undefined))
  const key = useRef(newKey())
  const isHeld = useRef(false)
  isHeld.current = isDirty
  useEffect(() => guardLeaving(() => isHeld.current), [])
  const set = (/** @type {Partial<V>} */ changes) => {
    key.current = newKey()
    setDirty(true)
    setValues((was) => ({ ...was, ...changes }))
  }
  const onSubmit = async (/** @type {Event} */ event) => {
    event.preventDefault()
    if (isBusy) return
    const form = event.target
    setBusy(true)
    setError(undefined)
    try {
      // What leaves the view afterwards must not ask.
      isHeld.current = false
      await submit(values, key.current)
      setDirty(false)
      key.current = newKey()
    } catch (cause) {
      isHeld.current = isDirty
      const refused = asApiError(cause)
      setError(refused)
      if (refused.status === 412 && latest !== undefined) setTheirs(await latest().catch(() => undefined))
      // The first field with a message, or the message itself, once it is drawn: it may be far above the button.
      setTimeout(() => {
        if (!(form instanceof HTMLFormElement)) return
        const bad = form.querySelector('[aria-invalid=true]') ?? form.querySelector('.panel')
        if (!(bad instanceof HTMLElement)) return
        if (bad.classList.contains('panel')) bad.tabIndex = -1
        bad.focus()
      })
    } finally {
      setBusy(false)
    }
  }
  const fieldErrors = error === undefined ? {} : byField(error, Object.keys(values), codes)
  const conflict = theirs && {
    values: theirs,
    takeTheirs: () => {
      set(theirs)
      setTheirs(undefined)
      setError(undefined)
    },
    keepMine: () => {
      key.current = newKey()
      setTheirs(undefined)
      setError(undefined)
    },
  }
  return { values, set, onSubmit, isBusy, isDirty, error, fieldErrors, conflict }
}

/**
 * Shows a value of both versions beside each other, where another request changed the object.
 *
 * @param {{ form: Form<any>, labels: Record<string, string> }} props
 */
export const Conflict = ({ form, labels }) => {
  if (form.conflict === undefined) return null
  const { values, takeTheirs, keepMine } = form.conflict
  const shown = (/** @type {unknown} */ value) => (typeof value === 'string' ? value : JSON.stringify(value))
  const differing = Object.keys(labels).filter((name) => shown(values[name]) !== shown(form.values[name]))
  return html`
    <div class="panel problem" role="alert">
      <div>
        <p class="strong">${texts.form.conflict}</p>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">${texts.form.field}</th>
              <th scope="col">${texts.form.theirs}</th>
              <th scope="col">${texts.form.mine}</th>
            </tr>
          </thead>
          <tbody>
            ${differing.map(
              (name) =>
                html`<tr key=${name}>
                  <th scope="row">${labels[name]}</th>
                  <td>${shown(values[name])}</td>
                  <td>${shown(form.values[name])}</td>
                </tr>`,
            )}
          </tbody>
        </table>
        <div class="actions start">
          <button type="button" onClick=${takeTheirs}>${texts.form.takeTheirs}</button>
          <button type="button" onClick=${keepMine}>${texts.form.keepMine}</button>
        </div>
      </div>
    </div>
  `
}

/**
 * The message of a refusal that is about no field.
 *
 * @param {{ form: Form<any> }} props
 */
export const FormProblem = ({ form }) =>
  form.error !== undefined && form.conflict === undefined && Object.keys(form.fieldErrors).length === 0
    ? html`<${Problem} error=${form.error} />`
    : null

/**
 * A labelled field of a form, with its hint and the message of the API about it.
 *
 * @param {{
 *   form: Form<any>,
 *   name: string,
 *   label: string,
 *   hint?: string,
 *   type?: 'text' | 'email' | 'number' | 'password' | 'url' | 'textarea' | 'select' | 'check' | 'date',
 *   options?: readonly (readonly [value: string, text: string])[],
 *   isRequired?: boolean,
 *   rows?: number,
 *   isCode?: boolean,
 *   autocomplete?: string,
 *   placeholder?: string,
 * }} props
 */
export const Field = ({
  form,
  name,
  label,
  hint,
  type = 'text',
  options = [],
  isRequired = false,
  rows = 3,
  isCode = false,
  autocomplete = 'off',
  placeholder,
}) => {
  const id = useId()
  const problem = form.fieldErrors[name]
  const notes = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ')
  const value = form.values[name]
  const common = {
    id,
    name,
    required: isRequired,
    'aria-invalid': problem === undefined ? undefined : 'true',
    'aria-describedby': notes === '' ? undefined : notes,
  }
  const take = (/** @type {any} */ event) =>
    form.set({ [name]: type === 'check' ? event.target.checked : event.target.value })
  const control =
    type === 'textarea'
      ? html`<textarea ...${common} rows=${rows} class=${isCode ? 'code' : ''} spellcheck=${!isCode} placeholder=${placeholder} value=${value} onInput=${take} />`
      : type === 'select'
        ? html`<select ...${common} onChange=${take}>
            ${options.map(([each, text]) => html`<option key=${each} value=${each} selected=${each === value}>${text}</option>`)}
          </select>`
        : type === 'check'
          ? html`<input ...${common} type="checkbox" checked=${value === true} onChange=${take} />`
          : html`<input
              ...${common}
              type=${type}
              class=${isCode ? 'code' : ''}
              autocomplete=${autocomplete}
              spellcheck=${false}
              placeholder=${placeholder}
              value=${value}
              onInput=${take}
            />`
  const noted = html`
    ${hint && html`<p id="${id}-hint" class="hint">${hint}</p>`}
    ${problem && html`<p id="${id}-problem" class="field-problem">${problem}</p>`}
  `
  if (type === 'check')
    return html`<div class="field check">
      ${control}
      <div><label for=${id}>${label}</label>${noted}</div>
    </div>`
  return html`
    <div class="field">
      <label for=${id}>${label}${!isRequired && html` <span class="optional">${texts.form.optional}</span>`}</label>
      ${control}${noted}
    </div>
  `
}

/**
 * The buttons at the end of a form.
 *
 * @param {{ form: Form<any>, action: string, onCancel?: () => void }} props
 */
export const FormActions = ({ form, action, onCancel }) => html`
  <div class="actions">
    ${onCancel && html`<button type="button" onClick=${onCancel}>${texts.common.cancel}</button>`}
    <button type="submit" class="primary" aria-disabled=${form.isBusy}>
      ${form.isBusy ? texts.common.working : action}
    </button>
  </div>
`
