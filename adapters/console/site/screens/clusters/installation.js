import { api, href, pathOf } from '../../kit/address.js'
import { html } from '../../kit/html.js'
import { Page } from '../../kit/page.js'
import { Copyable } from '../../kit/secret.js'
import { accountPage } from '../../kit/session.js'
import { texts } from '../../texts.js'

/**
 * @import { ScreenProps } from 'api-shapes'
 */

const text = texts.installation

/** How a customer reaches clusters and packages with the usual tools. @param {ScreenProps} props */
export const screen = ({ params: { owner = '' } }) => {
  const org = encodeURIComponent(owner)
  return html`
    <${Page} title=${text.title} lead=${text.lead}>
      <ol class="stack numbered">
        <li class="card">
          <h2>${text.token}</h2>
          <p>${text.tokenHint}</p>
          <p><a class="button" href=${accountPage}>${texts.shell.yourAccount}</a></p>
          <${Copyable} label=${text.token} value=${`export TOKEN=…`} />
        </li>
        <li class="card">
          <h2>${text.kubectl}</h2>
          <p>${text.kubectlHint} <a href=${href(pathOf('o', owner, 'clusters'))}>${text.toClusters}</a></p>
          <${Copyable}
            label=${text.kubectl}
            value=${`curl -fsS -H "Authorization: Bearer $TOKEN" \\\n  ${api}/clusters/${org}/CLUSTER/client-config > kubeconfig\nKUBECONFIG=kubeconfig kubectl get pods`}
          />
        </li>
        <li class="card">
          <h2>${text.license}</h2>
          <p>${text.licenseHint} <a href=${href(pathOf('o', owner, 'contracts'))}>${texts.contracts.title}</a></p>
        </li>
        <li class="card">
          <h2>${text.program}</h2>
          <p>${text.programHint}</p>
          <${Copyable}
            label=${text.program}
            value=${`curl -fsS -H "Authorization: Bearer $TOKEN" ${api}/clustersv2/${org}`}
          />
        </li>
      </ol>
    <//>
  `
}
