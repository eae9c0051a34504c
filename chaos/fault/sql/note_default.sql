SELECT set_config('chaos.name', $1, false), set_config('chaos.value', $2, false), set_config('chaos.schemas', $3, false)
