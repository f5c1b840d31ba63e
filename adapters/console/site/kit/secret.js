import { useState } from 'preact/hooks'
import { texts } from '../texts.js'
import { html } from './html.js'
import { Icon } from './icons.js'

/** A text that is pasted elsewhere, such as a command or a new token. @param {{ label: string, value: string }} props */
export const Copyable = ({ label, value }) => {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(value)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  // Browsers allow it on https and on localhost.
  const canCopy = navigator.clipboard !== undefined
  return html`
    <div class="copyable">
      <pre class="code" tabindex="0" role="region" aria-label=${label}>${value}</pre>
      ${
        canCopy &&
        html`<button type="button" class="small" aria-label="${texts.common.copy}: ${label}" onClick=${copy}>
          <${Icon} name=${isCopied ? 'check' : 'copy'} />${isCopied ? texts.common.copied : texts.common.copy}
        </button>`
      }
    </div>
  `
}
