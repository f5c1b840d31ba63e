import { useEffect } from 'preact/hooks'
import { fill, texts } from '../texts.js'
import { address, href } from './address.js'
import { html, useValue } from './html.js'
import { Icon } from './icons.js'

/**
 * The frame of a screen: its title, where it is, its actions and its tabs.
 *
 * @param {{ title: string, up?: readonly (readonly [path: string, text: string])[], lead?: unknown, actions?: unknown, tabs?: readonly (readonly [path: string, text: string])[], children?: unknown }} props
 */
export const Page = ({ title, up = [], lead, actions, tabs, children }) => {
  const { path } = useValue(address)
  useEffect(() => {
    document.title = `${title} · ${texts.shell.product}`
  }, [title])
  return html`
    <div class="page">
      ${up.length > 0 && html`<nav class="crumbs" aria-label=${texts.shell.crumbs}>${up.map(([to, text]) => html`<a key=${to} href=${href(to)}>${text}</a>`)}</nav>`}
      <div class="page-head">
        <div>
          <h1>${title}</h1>
          ${lead && html`<p class="lead">${lead}</p>`}
        </div>
        ${actions && html`<div class="page-actions">${actions}</div>`}
      </div>
      ${
        tabs &&
        html`<nav class="tabs" aria-label=${texts.shell.sections}>
          ${tabs.map(([to, text]) => html`<a key=${to} href=${href(to)} aria-current=${path === to ? 'page' : undefined}>${text}</a>`)}
        </nav>`
      }
      ${children}
    </div>
  `
}

/** Says why an action is not offered. @param {{ action: string }} props such as `add members` */
export const NotAllowed = ({ action }) => html`
  <div class="panel">
    <${Icon} name="info" />
    <p>${fill(texts.common.notAllowed, { action })}</p>
  </div>
`
