import { render } from 'preact'
import { leaveQuestion } from './kit/address.js'
import { applyBrand } from './brand.js'
import { asApiError } from './kit/client.js'
import { html, useValue } from './kit/html.js'
import { Placeholder, Problem } from './kit/resource.js'
import { loadSession, session } from './kit/session.js'
import { Shell } from './kit/shell.js'
import { texts } from './texts.js'

const App = () => {
  const known = useValue(session)
  return known === undefined ? html`<${Placeholder} lines=${6} />` : html`<${Shell} session=${known} />`
}

const app = document.getElementById('app')
if (app === null) throw new Error('The document has no place for the console.')

leaveQuestion.text = texts.form.leave
session.subscribe((known) => applyBrand(known?.branding))
try {
  await loadSession()
  if (session.value !== undefined) {
    app.replaceChildren()
    render(html`<${App} />`, app)
  }
} catch (error) {
  app.replaceChildren()
  render(
    html`<main class="alone"><${Problem} error=${asApiError(error)} retry=${() => location.reload()} /></main>`,
    app,
  )
}
