# The folder and the dashboards of otel-hooks in a Grafana of your own, for the provider grafana/grafana:
#
#     terraform init
#     terraform apply -var prometheus_uid=... -var loki_uid=... -var tempo_uid=...
#
# The address and the token of Grafana are GRAFANA_URL and GRAFANA_AUTH in the environment.

terraform {
  required_version = ">= 1.3"
  required_providers {
    grafana = {
      source  = "grafana/grafana"
      version = ">= 3.0.0"
    }
  }
}

variable "prometheus_uid" {
  type        = string
  description = "The uid of the data source of Prometheus or Mimir."
}

variable "loki_uid" {
  type        = string
  description = "The uid of the data source of Loki."
}

variable "tempo_uid" {
  type        = string
  description = "The uid of the data source of Tempo."
}

variable "folder" {
  type        = string
  description = "The title of the folder."
  default     = "Coding agents"
}

resource "grafana_folder" "agents" {
  title = var.folder
}

resource "grafana_dashboard" "agents" {
  for_each  = fileset("${path.module}/../dashboards", "*.json")
  folder    = grafana_folder.agents.uid
  overwrite = true
  config_json = replace(replace(replace(
    file("${path.module}/../dashboards/${each.value}"),
    "\"uid\": \"prometheus\"", "\"uid\": \"${var.prometheus_uid}\""),
    "\"uid\": \"loki\"", "\"uid\": \"${var.loki_uid}\""),
  "\"uid\": \"tempo\"", "\"uid\": \"${var.tempo_uid}\"")
}
