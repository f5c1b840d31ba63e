import { html } from './html.js'

/**
 * A set of checkboxes of a form, whose value is a list.
 *
 * @template {string | number} K
 * @param {{ form: import('./form.js').Form<any>, name: string, label: string, hint?: string, choices: readonly (readonly [key: K, text: string, note?: string])[], none: string }} props
 */
export const Choices = ({ form, name, label, hint, choices, none }) => {
  /** @type {K[]} */
  const chosen = form.values[name]
  const problem = form.fieldErrors[name]
  const toggle = (/** @type {K} */ key) =>
    form.set({ [name]: chosen.includes(key) ? chosen.filter((each) => each !== key) : [...chosen, key] })
  return html`
    <fieldset>
      <legend>${label}</legend>
      ${hint && html`<p class="hint">${hint}</p>`} ${choices.length === 0 && html`<p class="hint">${none}</p>`}
      <div class="choices">
        ${choices.map(
          ([key, text, note]) =>
            html`<label key=${key} class="choice">
              <input type="checkbox" checked=${chosen.includes(key)} onChange=${() => toggle(key)} />
              <span>${text}${note && html`<span class="sub">${note}</span>`}</span>
            </label>`,
        )}
      </div>
      ${problem && html`<p class="field-problem">${problem}</p>`}
    </fieldset>
  `
}
