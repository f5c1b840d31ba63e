import type { FreeObject } from '../kernel/json.ts'
import { ownText } from './editor-json.ts'
import { groupVersionOf } from './manifest-objects.ts'

/** Kinds of Kubernetes itself that belong to no namespace, as `group/Kind`. */
const clusterKinds: ReadonlySet<string> = new Set([
  '/Namespace',
  '/Node',
  '/PersistentVolume',
  'admissionregistration.k8s.io/MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy',
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding',
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration',
  'apiextensions.k8s.io/CustomResourceDefinition',
  'apiregistration.k8s.io/APIService',
  'certificates.k8s.io/CertificateSigningRequest',
  'flowcontrol.apiserver.k8s.io/FlowSchema',
  'flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration',
  'networking.k8s.io/IngressClass',
  'node.k8s.io/RuntimeClass',
  'rbac.authorization.k8s.io/ClusterRole',
  'rbac.authorization.k8s.io/ClusterRoleBinding',
  'scheduling.k8s.io/PriorityClass',
  'storage.k8s.io/CSIDriver',
  'storage.k8s.io/StorageClass',
  'storage.k8s.io/VolumeAttachment',
])

/** Whether objects of a kind belong to no namespace: known, or said by `metadata.resource` of the editor that is for it. */
export const isClusterScoped = ({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }, ofEditor: FreeObject): boolean => {
  const { group } = groupVersionOf(apiVersion)
  const isEdited = ownText(ofEditor, 'kind') === kind && ownText(ofEditor, 'group') === group
  return clusterKinds.has(`${group}/${kind}`) || (isEdited && ownText(ofEditor, 'scope') === 'Cluster')
}
