import { useState } from 'preact/hooks'
import { href, navigate, pathOf } from '../../kit/address.js'
import { asApiError, call } from '../../kit/client.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { notify } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { Problem } from '../../kit/resource.js'
import { Copyable } from '../../kit/secret.js'
import { texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.importCluster

/** A service account with all rights, for a person who has none to paste. */
const commands = `kubectl create namespace moorage
kubectl -n moorage create serviceaccount moorage
kubectl create clusterrolebinding moorage --clusterrole cluster-admin --serviceaccount moorage:moorage
SERVER=$(kubectl config view --minify --raw -o jsonpath='{.clusters[0].cluster.server}')
kubectl config view --minify --raw -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' | base64 -d > ca.crt
kubectl config --kubeconfig moorage.kubeconfig set-cluster it --server "$SERVER" --certificate-authority ca.crt --embed-certs
kubectl config --kubeconfig moorage.kubeconfig set-credentials moorage --token "$(kubectl -n moorage create token moorage --duration 8760h)"
kubectl config --kubeconfig moorage.kubeconfig set-context it --cluster it --user moorage
kubectl config --kubeconfig moorage.kubeconfig use-context it
cat moorage.kubeconfig`

/** @param {{ found: Schemas['ClusterInfoModel'] }} props */
const Found = ({ found }) => html`
  <div class="panel good" role="status">
    <${Icon} name="check" />
    <div>
      <p class="strong">${text.reached}</p>
      <dl class="facts">
        <dt>${texts.clusters.version}</dt>
        <dd>${found.kubernetesVersion}</dd>
        <dt>${texts.clusters.nodes}</dt>
        <dd>${found.nodeCount}</dd>
        <dt>${texts.clusters.endpoint}</dt>
        <dd>${found.endpoint}</dd>
      </dl>
    </div>
  </div>
`

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '' } }) => {
  const [found, setFound] = useState(/** @type {Schemas['ClusterInfoModel'] | undefined} */ (undefined))
  const [problem, setProblem] = useState(/** @type {import('../../kit/client.js').ApiError | undefined} */ (undefined))
  const [isChecking, setChecking] = useState(false)
  const bodyOf = (
    /** @type {{ name: string, displayName: string, accessConfig: string }} */ { name, displayName, accessConfig },
  ) => ({
    basicInfo: { name: name.trim(), displayName: displayName.trim() },
    provider: { accessConfig },
  })
  const form = useForm({
    initial: { name: '', displayName: '', accessConfig: '' },
    codes: {
      ClusterNameTaken: 'name',
      ClusterNameRefused: 'name',
      AccessConfigInvalid: 'accessConfig',
      AccessConfigRefused: 'accessConfig',
      ClusterUnreachable: 'accessConfig',
    },
    submit: async (values, idempotencyKey) => {
      const { data } = await call('post', '/clustersv2/{owner}/import', {
        path: { owner },
        body: bodyOf(values),
        idempotencyKey,
      })
      notify(text.done)
      navigate(href(pathOf('o', owner, 'clusters', data.name)))
    },
  })
  const check = async () => {
    setChecking(true)
    setProblem(undefined)
    setFound(undefined)
    try {
      setFound((await call('post', '/clustersv2/{owner}/check', { path: { owner }, body: bodyOf(form.values) })).data)
    } catch (error) {
      setProblem(asApiError(error))
    }
    setChecking(false)
  }
  const takeFile = async (/** @type {any} */ event) => {
    const [file] = event.target.files
    if (file !== undefined) form.set({ accessConfig: await file.text() })
  }
  return html`
    <${Page} title=${text.title} lead=${text.lead} up=${[[pathOf('o', owner, 'clusters'), texts.clusters.title]]}>
      <div class="columns even">
        <section class="card" aria-label=${text.title}>
          <form class="form" novalidate onSubmit=${form.onSubmit}>
            <${FormProblem} form=${form} />
            <${Field} form=${form} name="name" label=${text.name} hint=${text.nameHint} isRequired />
            <${Field} form=${form} name="displayName" label=${text.displayName} />
            <${Field}
              form=${form}
              name="accessConfig"
              type="textarea"
              rows=${10}
              isCode
              label=${text.kubeconfig}
              hint=${text.kubeconfigHint}
              isRequired
            />
            <div class="field">
              <label for="kubeconfig-file">${text.file}</label
              ><input id="kubeconfig-file" type="file" onChange=${takeFile} />
            </div>
            ${problem && html`<${Problem} error=${problem} />`} ${found && html`<${Found} found=${found} />`}
            <div class="actions start">
              <button type="button" aria-disabled=${isChecking} onClick=${check}>
                ${isChecking ? texts.common.working : text.check}
              </button>
            </div>
            <${FormActions} form=${form} action=${texts.clusters.import} />
          </form>
        </section>
        <section class="card" aria-label=${text.byCommandTitle}>
          <div class="card-head"><h2>${text.byCommandTitle}</h2></div>
          <p class="para">${text.byCommandHint}</p>
          <${Copyable} label=${text.byCommand} value=${commands} />
        </section>
      </div>
    <//>
  `
}
