import { call, get } from '../../kit/client.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { html } from '../../kit/html.js'
import { notify } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { loaded, useResource } from '../../kit/resource.js'
import { loadSession } from '../../kit/session.js'
import { texts } from '../../texts.js'

/**
 * @import { Schemas } from 'api-shapes'
 */

const text = texts.branding

/** @param {{ branding: Schemas['BrandingResponse'] }} props */
const BrandingForm = ({ branding: { appName, primaryColor, logo, showAppTag } }) => {
  const form = useForm({
    initial: { appName, primaryColor, logo, showAppTag },
    submit: async (body, idempotencyKey) => {
      await call('post', '/branding', { body, idempotencyKey })
      // The frame of the console shows the name, the logo and the color.
      await loadSession()
      notify(text.saved)
    },
  })
  return html`
    <form class="form card" novalidate onSubmit=${form.onSubmit}>
      <${FormProblem} form=${form} />
      <${Field} form=${form} name="appName" label=${text.appName} hint=${text.appNameHint} />
      <${Field} form=${form} name="primaryColor" label=${text.color} hint=${text.colorHint} isCode />
      <${Field} form=${form} name="logo" type="url" label=${text.logo} hint=${text.logoHint} />
      <${Field} form=${form} name="showAppTag" type="check" label=${text.appTag} />
      <${FormActions} form=${form} action=${texts.common.save} />
    </form>
  `
}

export const screen = () => {
  const branding = useResource('branding', async (signal) => (await get('/branding', { signal })).data)
  return html`<${Page} title=${text.title} lead=${text.lead}
    >${loaded(branding, (value) => html`<${BrandingForm} branding=${value} />`)}<//
  >`
}
