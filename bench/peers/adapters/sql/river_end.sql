DELETE FROM fan_in WHERE instance = $1
